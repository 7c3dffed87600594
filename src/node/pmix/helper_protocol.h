// The messages between an agent and its dlaunch-pmix, over a socket pair. Pure; both programs come
// from one build, so there is a single version, checked once.
//
// A frame: length of the rest (4 bytes), type (1 byte), then the fields in order. Numbers are
// little-endian; strings and lists begin with their length in 4 bytes. It is not the wire's CBOR,
// because the helper is a small program that links nothing else of dlaunch. The agent sends first.
//
//   agent -> helper   Setup; then in any order FenceDone, DataWanted, Data, AbortSeen; Finish
//   helper -> agent   Ready; then in any order Connected, Fence, DataWanted, Data, Aborted, ...
//
// A request has an `id` that its sender chooses, and the answer repeats it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "model/rank_span.h"
#include "model/result.h"

namespace dlaunch::pmix {

inline constexpr std::uint32_t kProtocol = 1;
/// What `dlaunch-pmix --probe` prints before the version of the library if it can run.
inline constexpr const char* kProbeAnswer = "serves PMIx by";
/// Limit of a frame without its length: what a message between nodes may carry, plus some room.
inline constexpr std::size_t kMostFrame = 16U * 1024 * 1024 + 4096;

/// Describes the job to the server. Answer: Ready.
struct Setup {
  struct Node {
    std::string name;  // the same on all nodes; no comma
    std::vector<RankSpan> ranks;
    static auto fields(auto& self) { return std::tie(self.name, self.ranks); }
    bool operator==(const Node&) const = default;
  };
  std::uint32_t protocol = kProtocol;
  std::string name_space;
  std::uint32_t node = 0;   // which of `nodes` this is
  std::string folder;       // absolute, exists, private: for the server's files
  std::vector<Node> nodes;  // index = NodeRank
  static auto fields(auto& self) {
    return std::tie(self.protocol, self.name_space, self.node, self.folder, self.nodes);
  }
  bool operator==(const Setup&) const = default;
};
/// The end of a Fence: the contributions of all nodes, in any order.
struct FenceDone {
  std::uint32_t id = 0;
  std::int32_t status = 0;  // 0: success; else a status of PMIx
  std::string bytes;
  static auto fields(auto& self) { return std::tie(self.id, self.status, self.bytes); }
  bool operator==(const FenceDone&) const = default;
};
/// Sent in both directions: asks for what `rank` has published. The helper asks for ranks of other
/// nodes, the agent for ranks of this one. Answer: Data.
struct DataWanted {
  std::uint32_t id = 0;
  std::uint32_t rank = 0;
  static auto fields(auto& self) { return std::tie(self.id, self.rank); }
  bool operator==(const DataWanted&) const = default;
};
struct Data {
  std::uint32_t id = 0;
  std::int32_t status = 0;
  std::string bytes;
  static auto fields(auto& self) { return std::tie(self.id, self.status, self.bytes); }
  bool operator==(const Data&) const = default;
};
/// The rank that called MPI_Abort may continue, and will end.
struct AbortSeen {
  std::uint32_t id = 0;
  static auto fields(auto& self) { return std::tie(self.id); }
  bool operator==(const AbortSeen&) const = default;
};
/// All ranks of this node have ended: clean up and end.
struct Finish {
  static auto fields(auto&) { return std::tuple<>(); }
  bool operator==(const Finish&) const = default;
};

/// The server accepts connections, or `refused` says why it does not.
struct Ready {
  struct OfRank {
    std::uint32_t rank = 0;
    std::vector<std::string> env;  // "NAME=VALUE", to set for the rank
    static auto fields(auto& self) { return std::tie(self.rank, self.env); }
    bool operator==(const OfRank&) const = default;
  };
  std::string refused;
  std::vector<OfRank> ranks;
  static auto fields(auto& self) { return std::tie(self.refused, self.ranks); }
  bool operator==(const Ready&) const = default;
};
/// A rank has called PMIx_Init or PMIx_Finalize, and waits until this message is written.
struct Connected {
  std::uint32_t rank = 0;
  static auto fields(auto& self) { return std::tie(self.rank); }
  bool operator==(const Connected&) const = default;
};
struct Finalized {
  std::uint32_t rank = 0;
  static auto fields(auto& self) { return std::tie(self.rank); }
  bool operator==(const Finalized&) const = default;
};
/// All members on this node have entered a fence over several nodes. Answer: FenceDone.
struct Fence {
  std::uint32_t id = 0;
  std::int32_t status = 0;
  std::vector<RankSpan> members;  // see spans_of(); empty: all ranks of the job
  std::string bytes;
  static auto fields(auto& self) {
    return std::tie(self.id, self.status, self.members, self.bytes);
  }
  bool operator==(const Fence&) const = default;
};
/// A rank has called MPI_Abort and waits for AbortSeen.
struct Aborted {
  std::uint32_t id = 0;
  std::uint32_t rank = 0;
  std::int32_t code = 0;
  std::string text;
  static auto fields(auto& self) { return std::tie(self.id, self.rank, self.code, self.text); }
  bool operator==(const Aborted&) const = default;
};
/// A rank has called something that is not supported ("MPI_Comm_spawn") and gets an error.
struct Refused {
  std::uint32_t rank = 0;
  std::string what;
  static auto fields(auto& self) { return std::tie(self.rank, self.what); }
  bool operator==(const Refused&) const = default;
};

using HelperMessage = std::variant<Setup, FenceDone, DataWanted, Data, AbortSeen, Finish, Ready,
                                   Connected, Finalized, Fence, Aborted, Refused>;

/// The whole frame.
[[nodiscard]] std::string encode(const HelperMessage& message);

/// Bytes in, messages out. Every call after an error returns an error.
class HelperReader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// nullopt: more bytes are needed. Errors: exit_code::kInternal for a frame that is too large, of
  /// an unknown type, cut short, or with bytes left over.
  [[nodiscard]] Result<std::optional<HelperMessage>> next();

 private:
  std::string bytes_;
  std::size_t begin_ = 0;  // the bytes before it have been returned
};

}  // namespace dlaunch::pmix
