// The errors of decode() for well-formed CBOR that does not match the message.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "samples.h"
#include "wire/codec.h"

namespace dlaunch::wire {
namespace {

using Json = nlohmann::json;

Json bytes(std::string_view text) {
  return Json::binary(std::vector<std::uint8_t>(text.begin(), text.end()));
}

Json parsed(const Message& message) {
  return Json::from_cbor(encode(message).payload);
}

/// The error of a message whose payload was replaced by `json`; "" if it was accepted.
std::string error_of(const Message& message, const Json& json) {
  Frame frame = encode(message);
  frame.payload.clear();
  Json::to_cbor(json, frame.payload);
  const Result<Message> result = decode(frame);
  if (result) return "";
  EXPECT_EQ(result.error().exit_code, exit_code::kNodeLost);
  return result.error().message;
}

/// The same with one field of it changed; the path is a JSON pointer (RFC 6901).
std::string error_with(const Message& message, const char* path, const Json& value) {
  Json json = parsed(message);
  json[Json::json_pointer(path)] = value;
  return error_of(message, json);
}

TEST(Decoder, SaysMessageFieldAndWhatIsWrong) {
  const RankExited exited{Attempt(1), Rank(3), {}, at(9)};
  EXPECT_EQ(error_with(exited, "/rank", bytes("3")),
            "malformed RankExited message: field \"rank\": expected an unsigned number");
  EXPECT_EQ(error_with(exited, "/rank", -1),
            "malformed RankExited message: field \"rank\": expected an unsigned number");
  EXPECT_EQ(error_with(exited, "/rank", 1 << 20),
            "malformed RankExited message: field \"rank\": expected a number from 0 to 1048575, "
            "not 1048576");
  EXPECT_EQ(error_with(exited, "/rank", 18446744073709551615ULL),
            "malformed RankExited message: field \"rank\": expected a number from 0 to 1048575");
  EXPECT_EQ(error_with(exited, "/status", 7),
            "malformed RankExited message: field \"status\": expected a map");
  EXPECT_EQ(error_with(exited, "/status/signaled", 1),
            "malformed RankExited message: field \"status.signaled\": expected true or false");
  EXPECT_EQ(error_of(exited, Json::array()), "malformed RankExited message: expected a map");
}

TEST(Decoder, PathsLeadIntoLists) {
  const Message start = sample_start();
  EXPECT_EQ(error_with(start, "/ranks/1/env", 3),
            "malformed StartRanks message: field \"ranks[1].env\": expected a list");
  EXPECT_EQ(
      error_with(start, "/ranks/0/cpus/1", true),
      "malformed StartRanks message: field \"ranks[0].cpus[1]\": expected an unsigned number");
  EXPECT_EQ(error_with(start, "/ranks/0/command", 2),
            "malformed StartRanks message: field \"ranks[0].command\": there is no command 2");
  EXPECT_EQ(error_with(start, "/commands/1/argv/2", "text"),
            "malformed StartRanks message: field \"commands[1].argv[2]\": expected a byte string");
  EXPECT_EQ(error_with(start, "/commands/0/argv", Json::array()),
            "malformed StartRanks message: field \"commands[0].argv\": an empty list");
  EXPECT_EQ(error_with(start, "/env/0", bytes("NOVALUE")),
            "malformed StartRanks message: field \"env[0]\": expected NAME=VALUE");
  EXPECT_EQ(error_with(start, "/env/0", bytes("=x")),
            "malformed StartRanks message: field \"env[0]\": expected NAME=VALUE");
  EXPECT_EQ(error_with(start, "/workdir", bytes(std::string_view("/a\0b", 4))),
            "malformed StartRanks message: field \"workdir\": a string with a NUL byte");
  EXPECT_EQ(error_with(Facts{sample_facts()}, "/facts/cores/1/threads", Json::array()),
            "malformed Facts message: field \"facts.cores[1].threads\": an empty list");
}

TEST(Decoder, AVariableMayBeThereOnlyOnce) {
  EXPECT_EQ(error_with(sample_start(), "/env/1", bytes("EMPTY=again")),
            "malformed StartRanks message: field \"env[1]\": a variable that occurs twice");
}

TEST(Decoder, EveryFieldOfEveryMessageIsNeeded) {
  int fields = 0;
  for (const Message& message : samples()) {
    if (is_raw(message)) {
      continue;
    }
    const Json whole = parsed(message);
    for (const auto& [name, value] : whole.items()) {
      Json less = whole;
      less.erase(name);
      EXPECT_EQ(error_of(message, less), std::string("malformed ") +
                                             type_name(encode(message).type) +
                                             " message: field \"" + name + "\": it is missing");
      ++fields;
    }
  }
  EXPECT_GT(fields, 45);
}

TEST(Decoder, NoFieldTakesAValueOfAnotherType) {
  // A float is never accepted; neither is a text where no step name is expected.
  for (const Message& message : samples()) {
    if (is_raw(message)) {
      continue;
    }
    const Json flat = parsed(message).flatten();
    for (const auto& [path, value] : flat.items()) {
      if (path.empty()) continue;
      EXPECT_NE(error_with(message, path.c_str(), 1.5), "") << path;
      EXPECT_NE(error_with(message, path.c_str(), "wrong"), "") << path;
      EXPECT_NE(error_with(message, path.c_str(), Json::object()), "") << path;
      const bool is_optional = path == "/facts/cuda_visible_devices" || path == "/search_path" ||
                               path.starts_with("/programs/") || path == "/lookups/0/search_path";
      if (!is_optional) {
        EXPECT_NE(error_with(message, path.c_str(), nullptr), "") << path;
      }
    }
  }
}

TEST(Decoder, Ranges) {
  const RankExited killed{Attempt(0), Rank(0), {true, 9, false}, at(0)};
  EXPECT_EQ(error_with(killed, "/status/value", 64), "");
  EXPECT_EQ(error_with(killed, "/status/value", 65),
            "malformed RankExited message: field \"status.value\": expected a signal from 1 to 64, "
            "not 65");
  EXPECT_NE(error_with(killed, "/status/value", 0), "");
  const RankExited exited{Attempt(0), Rank(0), {false, 0, false}, at(0)};
  EXPECT_EQ(error_with(exited, "/status/value", 255), "");
  EXPECT_NE(error_with(exited, "/status/value", 256), "");
  EXPECT_NE(error_with(exited, "/attempt", std::uint64_t{1} << 32), "");
  EXPECT_NE(error_with(exited, "/at", std::uint64_t{1} << 63), "");
  const StopRanks stop{Attempt(0), 15};
  EXPECT_NE(error_with(stop, "/signal", 0), "");
  EXPECT_NE(error_with(stop, "/signal", 65), "");
  EXPECT_NE(error_with(FactsRequest{0, {1}}, "/fixed_ports/0", 0), "");
  EXPECT_NE(error_with(FactsRequest{0, {1}}, "/fixed_ports/0", 65536), "");
  EXPECT_NE(error_with(OutputEnd{}, "/stream", 0), "");
  EXPECT_NE(error_with(OutputEnd{}, "/stream", 3), "");
  EXPECT_NE(error_with(Hello{}, "/heartbeat_ms", 0), "");
  const Facts facts{sample_facts()};
  EXPECT_EQ(error_with(facts, "/facts/gpus/0/numa", -1), "");
  EXPECT_EQ(
      error_with(facts, "/facts/gpus/0/numa", -2),
      "malformed Facts message: field \"facts.gpus[0].numa\": expected a number from -1 to 65535, "
      "not -2");
  EXPECT_EQ(error_with(facts, "/facts/fabric/rdma/0/numa", -1), "");
  EXPECT_NE(error_with(facts, "/facts/fabric/rdma/0/ports/0/number", 256), "");
  EXPECT_NE(error_with(facts, "/facts/fabric/rdma/0/ports/0/lid", -1), "");
  EXPECT_EQ(error_with(facts, "/facts/fabric/rdma/0/ports/0/state", "down"), "");
  EXPECT_EQ(error_with(facts, "/facts/fabric/rdma/0/ports/0/state", "Down"),
            "malformed Facts message: field \"facts.fabric.rdma[0].ports[0].state\": expected one "
            "of the names that the field allows");
}

}  // namespace
}  // namespace dlaunch::wire
