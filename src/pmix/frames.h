// What an agent and its dlaunch-pmix say to each other, as values, and as bytes on the socket pair
// between them. Pure; both programs are of one build, so there is one version, checked once.
//
// A frame: length of the rest (4 bytes), type (1 byte), then the fields in order. Numbers are
// little-endian; strings and lists begin with their length in 4 bytes. The agent speaks first.
//
//   agent -> helper   Setup; then, as they come, FenceDone, DataWanted, Data, AbortSeen; Finish
//   helper -> agent   Ready; then, as they come, Connected, Fence, DataWanted, Data, Aborted, ...
//
// Each request has an `id` of the one who asks, and the answer repeats it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/rank_span.h"
#include "model/result.h"

namespace dlaunch::pmix {

inline constexpr std::uint32_t kProtocol = 1;
/// What `dlaunch-pmix --probe` prints, before the version of the library, where it can run.
inline constexpr const char* kProbeAnswer = "serves PMIx by";
/// Of a frame, without its length: what a message between the nodes may carry, and a little more.
inline constexpr std::size_t kMostFrame = 16U * 1024 * 1024 + 4096;

/// All that the server must know of the job. -> Ready
struct Setup {
  struct Node {
    std::string name;  // the same on all nodes; no comma
    std::vector<RankSpan> ranks;
    template <class Archive>
    void carry(Archive& archive) {
      archive(name, ranks);
    }
    bool operator==(const Node&) const = default;
  };
  std::uint32_t protocol = kProtocol;
  std::string name_space;
  std::uint32_t node = 0;   // which of `nodes` this is
  std::string folder;       // absolute, exists, ours alone: for whatever the server stores
  std::vector<Node> nodes;  // index = NodeIndex
  template <class Archive>
  void carry(Archive& archive) {
    archive(protocol, name_space, node, folder, nodes);
  }
  bool operator==(const Setup&) const = default;
};
/// The end of a Fence: what all nodes have given, in any order.
struct FenceDone {
  std::uint32_t id = 0;
  std::int32_t status = 0;  // 0: well; else what the server reported
  std::string bytes;
  template <class Archive>
  void carry(Archive& archive) {
    archive(id, status, bytes);
  }
  bool operator==(const FenceDone&) const = default;
};
/// Both ways: what `rank` has published is asked for. The helper asks for ranks elsewhere, the
/// agent for those here. -> Data
struct DataWanted {
  std::uint32_t id = 0;
  std::uint32_t rank = 0;
  template <class Archive>
  void carry(Archive& archive) {
    archive(id, rank);
  }
  bool operator==(const DataWanted&) const = default;
};
struct Data {
  std::uint32_t id = 0;
  std::int32_t status = 0;
  std::string bytes;
  template <class Archive>
  void carry(Archive& archive) {
    archive(id, status, bytes);
  }
  bool operator==(const Data&) const = default;
};
/// The rank that has aborted may go on, and end.
struct AbortSeen {
  std::uint32_t id = 0;
  template <class Archive>
  void carry(Archive& archive) {
    archive(id);
  }
  bool operator==(const AbortSeen&) const = default;
};
/// All ranks here have ended: clean up and end.
struct Finish {
  template <class Archive>
  void carry(Archive&) {}
  bool operator==(const Finish&) const = default;
};

/// The server takes connections, or `refused` says why it does not.
struct Ready {
  struct OfRank {
    std::uint32_t rank = 0;
    std::vector<std::string> env;  // "NAME=VALUE", to be set for it
    template <class Archive>
    void carry(Archive& archive) {
      archive(rank, env);
    }
    bool operator==(const OfRank&) const = default;
  };
  std::string refused;
  std::vector<OfRank> ranks;
  template <class Archive>
  void carry(Archive& archive) {
    archive(refused, ranks);
  }
  bool operator==(const Ready&) const = default;
};
/// A rank has called PMIx_Init, or PMIx_Finalize; it waits until this was written.
struct Connected {
  std::uint32_t rank = 0;
  template <class Archive>
  void carry(Archive& archive) {
    archive(rank);
  }
  bool operator==(const Connected&) const = default;
};
struct Finalized {
  std::uint32_t rank = 0;
  template <class Archive>
  void carry(Archive& archive) {
    archive(rank);
  }
  bool operator==(const Finalized&) const = default;
};
/// All members here have come to a fence over several nodes. -> FenceDone
struct Fence {
  std::uint32_t id = 0;
  std::int32_t status = 0;
  std::vector<RankSpan> members;  // as spans_of() has them; empty: all of the job
  std::string bytes;
  template <class Archive>
  void carry(Archive& archive) {
    archive(id, status, members, bytes);
  }
  bool operator==(const Fence&) const = default;
};
/// A rank has called MPI_Abort and waits for AbortSeen.
struct Aborted {
  std::uint32_t id = 0;
  std::uint32_t rank = 0;
  std::int32_t code = 0;
  std::string text;
  template <class Archive>
  void carry(Archive& archive) {
    archive(id, rank, code, text);
  }
  bool operator==(const Aborted&) const = default;
};
/// A rank has asked for something that is not done here ("MPI_Comm_spawn"), and gets an error.
struct Refused {
  std::uint32_t rank = 0;
  std::string what;
  template <class Archive>
  void carry(Archive& archive) {
    archive(rank, what);
  }
  bool operator==(const Refused&) const = default;
};

using HelperMessage = std::variant<Setup, FenceDone, DataWanted, Data, AbortSeen, Finish, Ready,
                                   Connected, Finalized, Fence, Aborted, Refused>;

/// The whole frame.
[[nodiscard]] std::string encode(const HelperMessage& message);

/// Bytes in, messages out. After an error it stays in error. Thread-safety: none.
class HelperReader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// nullopt: more bytes are needed. Errors: exit_code::kInternal, a frame that is too large, of an
  /// unknown type, cut short, or with bytes left over.
  [[nodiscard]] Result<std::optional<HelperMessage>> next();

 private:
  std::string bytes_;
  std::size_t begin_ = 0;  // what lies before was handed out
};

}  // namespace dlaunch::pmix
