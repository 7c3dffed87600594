#include "wire/codec.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <nlohmann/json.hpp>

#include "samples.h"

namespace dlaunch::wire {
namespace {

using Json = nlohmann::json;

std::string as_text(const Json& bytes) {
  return std::string(bytes.get_binary().begin(), bytes.get_binary().end());
}

TEST(Codec, EveryMessageComesBackAsItWas) {
  const std::vector<Message> all = samples();
  ASSERT_EQ(all.size(), kTypes);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Frame frame = encode(all[i]);
    // docs/internals/wire-protocol.md
    ASSERT_EQ(frame.type, i + 1) << "samples() must have one of each, in order";
    EXPECT_EQ(frame.node, 0U);
    EXPECT_EQ(frame.session, 0U);
    EXPECT_EQ(frame.sequence, 0U);
    const Result<Message> back = decode(frame);
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(*back, all[i]) << type_name(frame.type);
  }
}

TEST(Codec, OptionalAndEmptyPartsComeBack) {
  Facts facts;  // everything empty; CUDA_VISIBLE_DEVICES unset
  EXPECT_EQ(decode(encode(facts)).value(), Message(facts));
  facts.facts.cuda_visible_devices = "";  // set to nothing is not the same
  EXPECT_EQ(decode(encode(facts)).value(), Message(facts));
  EXPECT_EQ(decode(encode(StartRanks{})).value(), Message(StartRanks{}));
  EXPECT_EQ(decode(encode(RanksStarted{})).value(), Message(RanksStarted{}));
  EXPECT_EQ(decode(encode(StdinData{})).value(), Message(StdinData{}));
  EXPECT_EQ(decode(encode(OutputData{})).value(), Message(OutputData{}));
  for (const auto step : {StartFailure::Step::workdir, StartFailure::Step::execute,
                          StartFailure::Step::interpreter, StartFailure::Step::resources}) {
    const RankNotStarted message{Attempt(0), Rank(0), {step, 2, "x", ""}, at(0)};
    EXPECT_EQ(decode(encode(message)).value(), Message(message));
  }
}

TEST(Codec, AMessageThatGoesTheOtherWayIsRefused) {
  EXPECT_EQ(decode<ToAgent>(encode(RankExited{})).error().message,
            "malformed RankExited message: it is for the other direction");
  EXPECT_EQ(decode<FromAgent>(encode(StartRanks{})).error().message,
            "malformed StartRanks message: it is for the other direction");
  EXPECT_EQ(decode<FromAgent>(encode(Ack{})).error().exit_code, exit_code::kNodeLost);
  EXPECT_TRUE(decode<ToAgent>(encode(Bye{})).has_value());
  EXPECT_TRUE(decode<FromAgent>(encode(Bye{})).has_value());
}

// A visitor that lacks one message does not compile, and a message without a group is in no
// variant.
template <class... Handled>
struct Visitor {
  template <class T>
  void operator()(const T&) const requires(OneOf<T, Handled> || ...) {}
};
template <class V, class Messages>
inline constexpr bool kTakesAll = false;
template <class V, class... T>
inline constexpr bool kTakesAll<V, std::variant<T...>> = (std::is_invocable_v<V, const T&> && ...);

TEST(Codec, AReceiverMustTakeEveryMessage) {
  using All = Visitor<SessionMessages, Answers, RunMessages, CollectAnswer,
                      std::variant<StagedSeen, Notice>>;
  static_assert(kTakesAll<All, FromAgent>);
  static_assert(
      !kTakesAll<Visitor<SessionMessages, Answers, RunMessages, CollectAnswer>, FromAgent>);
  static_assert(!kTakesAll<Visitor<FromAgent>, ToAgent>);
  static_assert(!OneOf<Ack, FromAgent> && !OneOf<Resume, ToAgent>);
}

TEST(Codec, NamesAndSequencing) {
  std::set<std::string> names;
  for (std::uint16_t type = 1; type <= kTypes; ++type) {
    EXPECT_TRUE(names.insert(type_name(type)).second) << type_name(type);
    const std::string name = type_name(type);
    // message.h and frame.h: these three carry no sequence number.
    EXPECT_EQ(is_sequenced(type),
              name != "Ack" && name != "Heartbeat" && name != "OutputData" && name != "Resume")
        << name;
  }
  EXPECT_STREQ(type_name(encode(Hello{}).type), "Hello");
  EXPECT_STREQ(type_name(encode(StartRanks{}).type), "StartRanks");
  EXPECT_STREQ(type_name(encode(OutputData{}).type), "OutputData");
  EXPECT_STREQ(type_name(encode(RankExited{}).type), "RankExited");
  EXPECT_STREQ(type_name(encode(Notice{}).type), "Notice");
  EXPECT_STREQ(type_name(0), "unknown");
  EXPECT_STREQ(type_name(encode(PortTaken{}).type), "PortTaken");
  EXPECT_STREQ(type_name(encode(Resume{}).type), "Resume");
  EXPECT_STREQ(type_name(encode(Knocked{}).type), "Knocked");
  EXPECT_STREQ(type_name(kTypes + 1), "unknown");
}

// An independent implementation of RFC 8949 reads what this one writes.
TEST(Codec, AnotherCborLibraryReadsIt) {
  for (const Message& message : samples()) {
    if (is_raw(message)) {
      continue;  // raw
    }
    const Json json = Json::from_cbor(encode(message).payload, true, /*allow_exceptions=*/false);
    EXPECT_TRUE(json.is_object()) << type_name(encode(message).type);
  }
  const Json start = Json::from_cbor(encode(sample_start()).payload);
  EXPECT_EQ(start["attempt"], 3);
  EXPECT_EQ(start["last"], false);
  EXPECT_EQ(as_text(start["commands"][1]["argv"][1]), every_byte());
  EXPECT_EQ(as_text(start["env"][2]), "EVERY_BYTE=" + every_byte());
  EXPECT_EQ(start["ranks"][1]["rank"], (1 << 20) - 1);
  EXPECT_EQ(start["ranks"][0]["release_ports"], Json({29500}));
  const Json exited =
      Json::from_cbor(encode(RankExited{Attempt(1), Rank(2), {true, 9, false}, at(-5)}).payload);
  EXPECT_EQ(exited, Json({{"attempt", 1},
                          {"rank", 2},
                          {"status",
                           {{"signaled", true},
                            {"value", 9},
                            {"core_dumped", false},
                            {"out_of_memory", Json::binary({})},
                            {"mpi", "fine"},
                            {"mpi_world", 0},
                            {"oom_ruled_out", false},
                            {"gpu_fault", Json::binary({})}}},
                          {"at", -5},
                          {"after_signal", false}}));
}

// ... and this one reads what it writes, with the fields in any order.
TEST(Codec, FieldsMayComeInAnyOrderAndUnknownOnesAreIgnored) {
  const RankExited wanted{Attempt(1), Rank(2), {false, 3, false}, at(77), true};
  Json json = {{"after_signal", true},
               {"zzz", {1, 2, {{"deep", nullptr}}}},
               {"at", 77},
               {"aaa", 1.5},
               {"status",
                {{"value", 3},
                 {"extra", "x"},
                 {"signaled", false},
                 {"out_of_memory", Json::binary({})},
                 {"mpi", "fine"},
                 {"mpi_world", 0},
                 {"oom_ruled_out", false},
                 {"gpu_fault", Json::binary({})},
                 {"core_dumped", false}}},
               {"rank", 2},
               {"after_signal", false},
               {"attempt", 1}};
  Frame frame = encode(wanted);
  frame.payload.clear();
  Json::to_cbor(json, frame.payload);
  const Result<Message> back = decode(frame);
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(*back, Message(wanted));
}

TEST(Codec, HelloOfAnotherVersionIsReadAsFarAsBothCanBeNamed) {
  Frame frame = encode(Hello{});
  frame.payload.clear();
  const std::vector<std::uint8_t> id = {'a', 'b', 'c'};
  Json::to_cbor(Json{{"protocol", kProtocolVersion + 1},
                     {"build_id", Json::binary(id)},
                     {"heartbeat_ms", "soon"}},
                frame.payload);
  const Result<ToAgent> back = decode<ToAgent>(frame);
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(std::get<Hello>(*back).protocol, kProtocolVersion + 1);
  EXPECT_EQ(std::get<Hello>(*back).build_id, "abc");
  // A Hello of our own version must be complete.
  frame.payload.clear();
  Json::to_cbor(Json{{"protocol", kProtocolVersion}, {"build_id", Json::binary(id)}},
                frame.payload);
  EXPECT_FALSE(decode(frame).has_value());
}

// docs/internals/wire-protocol.md, "Raw payloads".
TEST(Codec, RawPayloadsByteByByte) {
  const OutputData output{Attempt(1), Rank(0x0203), Stream::err, 0x0405060708, "hi"};
  EXPECT_EQ(encode(output).payload, std::string("\1\0\0\0"
                                                "\3\2\0\0"
                                                "\2\0\0\0"
                                                "\x08\x07\x06\x05\x04\0\0\0"
                                                "hi",
                                                22));
  EXPECT_EQ(encode(StdinData{Attempt(258), "x"}).payload, std::string("\2\1\0\0x", 5));
}

TEST(Codec, ATypicalStartOf256RanksFitsOneFrameManyTimes) {
  StartRanks start = sample_start();
  start.ranks.assign(256, start.ranks[0]);
  for (StartRank& rank : start.ranks) {
    for (int i = 0; i < 12; ++i) rank.env["TORCHELASTIC_" + std::to_string(i)] = "a-typical-value";
  }
  const Frame frame = encode(start);
  EXPECT_LT(frame.payload.size(), kMaxPayload / 64);
  EXPECT_EQ(decode(frame).value(), Message(start));
}

// ---- random values

std::string random_bytes(bool with_nul) {
  std::string bytes = *rc::gen::arbitrary<std::string>();
  if (!with_nul) std::replace(bytes.begin(), bytes.end(), '\0', '\xff');
  return bytes;
}

Environment random_environment() {
  Environment env;
  const int count = *rc::gen::inRange(0, 8);
  for (int i = 0; i < count; ++i) {
    std::string name = 'V' + random_bytes(false);
    std::replace(name.begin(), name.end(), '=', '_');
    env[name] = random_bytes(false);
  }
  return env;
}

template <class T, class Make>
std::vector<T> random_list(Make make) {
  std::vector<T> list;
  const int count = *rc::gen::inRange(0, 6);
  for (int i = 0; i < count; ++i) list.push_back(make());
  return list;
}

std::uint32_t below(std::uint32_t limit) {
  return *rc::gen::inRange<std::uint32_t>(0, limit);
}
std::uint16_t random_port() {
  return static_cast<std::uint16_t>(1 + below(65535));
}
Rank random_rank() {
  return Rank(below(1 << 20));
}
Attempt random_attempt() {
  return Attempt(*rc::gen::arbitrary<std::uint32_t>());
}
WallTime random_time() {
  return at(*rc::gen::inRange<std::int64_t>(-4'000'000'000'000'000'000, 4'000'000'000'000'000'001));
}

void expect_round_trip(const Message& message) {
  const Frame frame = encode(message);
  const Result<Message> back = decode(frame);
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == message);
}

TEST(Codec, RandomStartRanks) {
  const bool passed = rc::check("StartRanks", [] {
    StartRanks start;
    start.attempt = random_attempt();
    start.log_folder = random_bytes(false);
    start.workdir = random_bytes(false);
    start.scrub = random_list<std::string>([] { return random_bytes(false); });
    start.env = random_environment();
    start.commands = random_list<StartCommand>([] {
      StartCommand command{random_list<std::string>([] { return random_bytes(false); }),
                           *rc::gen::arbitrary<bool>()};
      command.argv.push_back("x");
      return command;
    });
    start.commands.push_back({{"last"}, false});
    const auto commands = static_cast<std::uint32_t>(start.commands.size());
    start.ranks = random_list<StartRank>([&] {
      StartRank rank{random_rank(),
                     LocalRank(below(4096)),
                     below(commands),
                     random_environment(),
                     {},
                     {},
                     *rc::gen::arbitrary<bool>()};
      rank.cpus = random_list<int>([] { return static_cast<int>(below(65536)); });
      rank.release_ports = random_list<std::uint16_t>(random_port);
      return rank;
    });
    start.output_credit = *rc::gen::arbitrary<std::uint32_t>();
    start.last = *rc::gen::arbitrary<bool>();
    expect_round_trip(start);
  });
  EXPECT_TRUE(passed);
}

TEST(Codec, RandomFacts) {
  const bool passed = rc::check("Facts", [] {
    NodeFacts facts;
    facts.hostname = random_bytes(false);
    facts.kernel = random_bytes(false);
    facts.memory_bytes = *rc::gen::arbitrary<std::uint64_t>();
    facts.cores = random_list<CpuCore>([] {
      CpuCore core{static_cast<int>(below(64)),
                   {static_cast<int>(below(8192))},
                   *rc::gen::arbitrary<bool>()};
      core.threads.push_back(static_cast<int>(below(8192)));
      return core;
    });
    facts.gpus = random_list<GpuFact>([] {
      return GpuFact{static_cast<int>(below(16)), random_bytes(false), random_bytes(false),
                     random_bytes(false), static_cast<int>(below(9)) - 1};
    });
    if (*rc::gen::arbitrary<bool>()) facts.cuda_visible_devices = random_bytes(false);
    facts.reserved_ports = random_list<std::uint16_t>(random_port);
    facts.taken_ports = random_list<TakenPort>([] {
      return TakenPort{random_port(), random_bytes(false)};
    });
    expect_round_trip(Facts{facts});
  });
  EXPECT_TRUE(passed);
}

TEST(Codec, RandomSmallMessages) {
  const bool passed = rc::check("the others", [] {
    const auto any64 = [] { return *rc::gen::arbitrary<std::uint64_t>(); };
    const auto flag = [] { return *rc::gen::arbitrary<bool>(); };
    const Stream stream = flag() ? Stream::out : Stream::err;
    const bool signaled = flag();
    const int value = static_cast<int>(signaled ? 1 + below(64) : below(256));
    expect_round_trip(Hello{kProtocolVersion, random_bytes(false), random_bytes(false),
                            1 + below(100000), below(100000), flag()});
    expect_round_trip(Heartbeat{random_time(), 1, 2, 3});
    expect_round_trip(Ack{any64()});
    expect_round_trip(
        FactsRequest{below(65536), random_list<std::uint16_t>(random_port), random_attempt(), ""});
    expect_round_trip(StopRanks{random_attempt(), static_cast<std::int32_t>(1 + below(64)),
                                random_list<Rank>(random_rank)});
    expect_round_trip(KillRanks{random_attempt(), random_list<Rank>(random_rank)});
    expect_round_trip(OutputCredit{random_attempt(), random_rank(), stream, any64(), any64()});
    expect_round_trip(StdinData{random_attempt(), random_bytes(true)});
    expect_round_trip(RanksStarted{
        random_attempt(), random_list<RanksStarted::One>([] {
          return RanksStarted::One{random_rank(), static_cast<std::int32_t>(1 + below(1 << 22)),
                                   random_time()};
        })});
    expect_round_trip(RankNotStarted{random_attempt(),
                                     random_rank(),
                                     {StartFailure::Step::resources, static_cast<int>(below(4096)),
                                      random_bytes(false), random_bytes(false)},
                                     random_time()});
    expect_round_trip(RankExited{
        random_attempt(), random_rank(), {signaled, value, flag()}, random_time(), flag()});
    const std::string printed = random_bytes(true);
    expect_round_trip(OutputData{random_attempt(), random_rank(), stream, any64() / 2, printed});
    expect_round_trip(OutputEnd{random_attempt(), random_rank(), stream, any64(), any64()});
    expect_round_trip(StdinTaken{random_attempt(), any64(), flag()});
    expect_round_trip(AttemptEnded{random_attempt(), *rc::gen::arbitrary<std::uint32_t>()});
    expect_round_trip(Notice{random_bytes(false)});
    const auto part = static_cast<OutputPart>(1 + below(3));
    expect_round_trip(
        FetchOutput{random_attempt(), random_rank(), part, any64(), 1 + below(kMostFetched)});
    expect_round_trip(
        FetchedOutput{random_attempt(), random_rank(), part, any64() / 2, random_bytes(true)});
    expect_round_trip(PmixFence{random_attempt(), any64(), *rc::gen::arbitrary<std::int32_t>(),
                                random_list<RankSpan>([] {
                                  return RankSpan{random_rank(), 1 + below(1 << 20)};
                                }),
                                random_bytes(true), below(2) == 1});
    expect_round_trip(PmixData{random_attempt(), *rc::gen::arbitrary<std::uint32_t>(),
                               *rc::gen::arbitrary<std::int32_t>(), random_bytes(true)});
  });
  EXPECT_TRUE(passed);
}

TEST(Codec, RandomSyncMessages) {
  const bool passed = rc::check("of a sync", [] {
    const auto any32 = [] { return *rc::gen::arbitrary<std::uint32_t>(); };
    const auto any64 = [] { return *rc::gen::arbitrary<std::uint64_t>(); };
    const auto flag = [] { return *rc::gen::arbitrary<bool>(); };
    const auto texts = [] { return random_list<std::string>([] { return random_bytes(false); }); };
    expect_round_trip(
        SyncBegin{any32(), random_bytes(false), random_bytes(false), random_bytes(false)});
    expect_round_trip(SyncEntries{any32(), random_list<SyncEntry>([&] {
                                    return SyncEntry{random_bytes(false),
                                                     static_cast<SyncEntry::Kind>(1 + below(3)),
                                                     below(01000),
                                                     any64(),
                                                     *rc::gen::arbitrary<std::int64_t>(),
                                                     random_bytes(false)};
                                  }),
                                  flag()});
    expect_round_trip(
        SyncSettled{any32(), random_list<std::uint32_t>(any32), random_list<std::uint32_t>(any32)});
    expect_round_trip(SyncRemove{any32(), texts()});
    expect_round_trip(SyncData{any32(), random_list<SyncData::Piece>([&] {
                                 return SyncData::Piece{any32(), any64() / 2, random_bytes(true)};
                               })});
    expect_round_trip(SyncWants{any32(), random_list<std::uint32_t>(any32),
                                random_list<SyncWants::Content>([&] {
                                  return SyncWants::Content{any32(), {any64(), any64()}};
                                }),
                                texts(), flag()});
    expect_round_trip(SyncTaken{any32(), any64()});
    expect_round_trip(SyncDone{any32(), random_bytes(false), any64(), any64(), texts()});
  });
  EXPECT_TRUE(passed);
}

}  // namespace
}  // namespace dlaunch::wire
