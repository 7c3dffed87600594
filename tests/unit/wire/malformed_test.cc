// Bytes from an attacker or a broken peer: an error or a message, never a crash (the sanitizer
// builds run the same), and no memory for what was only announced.
#include <random>

#include <gtest/gtest.h>

#include "samples.h"
#include "wire/codec.h"
#include "wire/framer.h"

namespace dlaunch::wire {
namespace {

TEST(Malformed, EveryMessageCutAtEveryByte) {
  for (const Message& message : samples()) {
    const Frame whole = encode(message);
    for (std::size_t size = 0; size < whole.payload.size(); ++size) {
      Frame cut = whole;
      cut.payload.resize(size);
      const Result<Message> result = decode(cut);
      if (is_raw(message)) {
        // The bytes of the stream may end anywhere; those of the header may not.
        if (result) {
          EXPECT_NE(*result, message);
        }
        continue;
      }
      ASSERT_FALSE(result.has_value()) << type_name(whole.type) << " cut to " << size;
      EXPECT_EQ(result.error().exit_code, exit_code::kNodeLost);
      EXPECT_EQ(result.error().message.rfind(std::string("malformed ") + type_name(whole.type), 0),
                0U);
    }
  }
  Frame output = encode(OutputData{});
  output.payload.resize(19);
  EXPECT_FALSE(decode(output).has_value());
  Frame input = encode(StdinData{});
  input.payload.resize(3);
  EXPECT_FALSE(decode(input).has_value());
  Frame typed = encode(TerminalInput{});
  typed.payload.resize(3);
  EXPECT_FALSE(decode(typed).has_value());
  Frame shown = encode(TerminalOutput{});
  shown.payload[4] = 3;
  EXPECT_FALSE(decode(shown).has_value());
  shown.payload.resize(7);
  EXPECT_FALSE(decode(shown).has_value());
}

TEST(Malformed, APieceOfAProgramIsInsideIt) {
  for (const auto& [offset, size] : {std::pair<std::uint64_t, std::uint64_t>{0, 0},
                                     {0, kMostPySpy + 1},
                                     {3, 4},
                                     {5, 4},
                                     {~std::uint64_t{0}, 4},
                                     {0, 1}})
    EXPECT_FALSE(decode(encode(PySpyData{offset, size, "ab"})).has_value())
        << offset << ' ' << size;
  EXPECT_TRUE(decode(encode(PySpyData{2, 4, "ab"})).has_value());
  Frame whole = encode(PySpyData{});
  whole.payload.resize(15);
  EXPECT_FALSE(decode(whole).has_value());
}

TEST(Malformed, BytesAfterTheEnd) {
  for (const Message& message : samples()) {
    if (is_raw(message)) continue;
    Frame frame = encode(message);
    frame.payload.push_back('\0');
    EXPECT_FALSE(decode(frame).has_value()) << type_name(frame.type);
  }
}

TEST(Malformed, RawHeaders) {
  const Frame good = encode(OutputData{Attempt(1), Rank(2), Stream::out, 3, "x"});
  const auto with = [&](std::size_t at_byte, char value) {
    Frame frame = good;
    frame.payload[at_byte] = value;
    return decode(frame);
  };
  EXPECT_TRUE(with(20, 'y').has_value());
  EXPECT_EQ(with(8, 3).error().message,
            "malformed OutputData message: field \"stream\": expected 1 or 2");
  EXPECT_FALSE(with(8, 0).has_value());
  EXPECT_FALSE(with(11, 1).has_value());
  EXPECT_EQ(with(7, 1).error().message,
            "malformed OutputData message: field \"rank\": out of range");
  Frame end = good;
  end.payload.replace(12, 8, 8, '\xff');
  EXPECT_EQ(decode(end).error().message,
            "malformed OutputData message: field \"offset\": out of range");
}

TEST(Malformed, FetchedOutputOutOfRange) {
  const Frame good = encode(FetchedOutput{Attempt(1), Rank(2), OutputPart::error_file, 3, "x"});
  const auto broken = [&](std::size_t at, char byte) {
    Frame frame = good;
    frame.payload[at] = byte;
    const auto result = decode(frame);
    return result ? "" : result.error().message;
  };
  EXPECT_EQ(broken(7, '\xff'), "malformed FetchedOutput message: field \"rank\": out of range");
  EXPECT_EQ(broken(8, '\x04'), "malformed FetchedOutput message: field \"part\": expected 1 to 3");
  EXPECT_EQ(broken(8, '\0'), "malformed FetchedOutput message: field \"part\": expected 1 to 3");
  Frame far = good;
  far.payload.replace(12, 8, 8, '\xff');
  EXPECT_EQ(decode(far).error().message,
            "malformed FetchedOutput message: field \"offset\": out of range");
  Frame large = good;
  large.payload.append(kMostFetched, 'x');
  EXPECT_EQ(decode(large).error().message,
            "malformed FetchedOutput message: more than 131072 bytes");
}

TEST(Malformed, SyncDataOutOfRange) {
  const Frame good = encode(SyncData{2, {{1, 3, "abc"}}});
  const auto with = [&](std::size_t at, const std::string& bytes) {
    Frame frame = good;
    frame.payload.replace(at, bytes.size(), bytes);
    const auto result = decode(frame);
    return result ? "" : result.error().message;
  };
  EXPECT_EQ(with(8, std::string(8, '\xff')),
            "malformed SyncData message: field \"offset\": out of range");
  EXPECT_EQ(with(16, std::string(4, '\xff')), "malformed SyncData message: it is cut short");
  EXPECT_EQ(with(16, "\x02"), "malformed SyncData message: it is cut short");  // one byte is left
  EXPECT_EQ(with(16, "\x04"), "malformed SyncData message: it is cut short");
  Frame shorter = good;
  shorter.payload.resize(3);
  EXPECT_FALSE(decode(shorter).has_value());
  shorter.payload = good.payload.substr(0, 4);
  EXPECT_TRUE(decode(shorter).has_value());  // no pieces
}

TEST(Malformed, SyncEntriesOutOfRange) {
  const auto broken = [&](const std::string& from, const std::string& to) {
    Frame frame = encode(SyncEntries{1, {{"a", SyncEntry::Kind::file, 0644, 1, 1, ""}}, false});
    const std::size_t at = frame.payload.find(from);
    EXPECT_NE(at, std::string::npos);
    frame.payload.replace(at, from.size(), to);
    const auto result = decode(frame);
    return result ? "" : result.error().message;
  };
  EXPECT_EQ(broken("kind\x01", "kind\x04").substr(0, 55),
            "malformed SyncEntries message: field \"entries[0].kind\":");
  EXPECT_EQ(broken("mode\x19\x01\xa4", "mode\x19\x0a\xa4").substr(0, 55),
            "malformed SyncEntries message: field \"entries[0].mode\":");
}

TEST(Malformed, PmixFencesAndDataOutOfRange) {
  const Frame good = encode(PmixFence{Attempt(1), 2, 0, {{Rank(5), 2}}, ""});
  const auto broken = [&](std::size_t at, char byte) {
    Frame frame = good;
    frame.payload[at] = byte;
    const auto result = decode(frame);
    return result ? "" : result.error().message;
  };
  EXPECT_EQ(broken(16, 2), "malformed PmixFence message: field \"pmi1\": expected 0 or 1");
  EXPECT_EQ(broken(20, 2), "malformed PmixFence message: it is cut short");
  EXPECT_EQ(broken(21, '\xff'), "malformed PmixFence message: field \"members\": too many");
  EXPECT_EQ(broken(27, 1), "malformed PmixFence message: field \"members\": out of range");
  EXPECT_EQ(broken(28, 0), "malformed PmixFence message: field \"members\": out of range");
  EXPECT_EQ(broken(31, 1), "malformed PmixFence message: field \"members\": out of range");
  Frame fence = good;
  fence.payload.resize(23);
  EXPECT_EQ(decode(fence).error().message, "malformed PmixFence message: it is cut short");
  Frame data = encode(PmixData{Attempt(1), 2, 0, ""});
  data.payload.pop_back();
  EXPECT_EQ(decode(data).error().message, "malformed PmixData message: it is cut short");
}

TEST(Malformed, UnknownTypes) {
  for (const std::uint16_t type :
       {std::uint16_t{0}, static_cast<std::uint16_t>(kTypes + 1), std::uint16_t{65535}}) {
    Frame frame;
    frame.type = type;
    EXPECT_EQ(decode(frame).error().message,
              "malformed frame: no message has type " + std::to_string(type));
  }
}

TEST(Malformed, LengthsThatLieAndDeepNesting) {
  const std::vector<std::string> payloads = {
      "\x9b\x7f\xff\xff\xff\xff\xff\xff\xff",  // a list of 2^63 - 1
      "\xbb\xff\xff\xff\xff\xff\xff\xff\xff",  // a map of 2^64 - 1
      "\x5b\x7f\xff\xff\xff\xff\xff\xff\xff",  // bytes
      "\x7a\xff\xff\xff\xff",                  // text
      "\xa1\x65"
      "ranks\x9a\x7f\xff\xff\xff",                // inside a field
      std::string(1 << 20, '\x81'),               // nested lists
      std::string(1 << 20, '\xa1'),               // nested maps
      std::string(std::size_t{1} << 20, '\xd8'),  // tags
      "\x9f\xff",
      "\xbf\xff",
      "\x5f\xff",
      "\x7f\xff",                       // indefinite
      std::string("\xa1\x41x\x00", 4),  // a key of bytes
  };
  for (std::uint16_t type = 1; type <= kTypes; ++type) {
    Frame frame;
    frame.type = type;
    const std::string name = type_name(type);
    if (name == "OutputData" || name == "StdinData" || name == "FetchedOutput" ||
        name == "SyncData" || name == "PmixFence" || name == "PmixData" ||
        name == "TerminalInput" || name == "TerminalOutput" || name == "PySpyData" ||
        name == "StageData" || name == "StageLetter")
      continue;
    for (const std::string& payload : payloads) {
      frame.payload = payload;
      EXPECT_FALSE(decode(frame).has_value()) << type_name(type);
    }
  }
  Frame twice = encode(Heartbeat{});
  twice.payload = std::string(
      "\xa2\x62"
      "at\x00\x62"
      "at\x00",
      9);
  EXPECT_EQ(decode(twice).error().message,
            "malformed Heartbeat message: field \"at\": it occurs twice");
}

TEST(Malformed, ALongListOfNothingFailsAtItsFirstItem) {
  // 16 million items of one byte each would be gigabytes of StartRank; the first one is not a map.
  std::string payload = encode(StartRanks{}).payload;
  const std::size_t key = payload.find("\x65ranks\x80");
  ASSERT_NE(key, std::string::npos);
  payload.replace(key + 6, 1,
                  "\x9a" + std::string("\x00\xff\x00\x00", 4) + std::string(0xff0000, '\0'));
  Frame frame = encode(StartRanks{});
  frame.payload = payload;
  EXPECT_EQ(decode(frame).error().message,
            "malformed StartRanks message: field \"ranks[0]\": expected a map");
}

TEST(Malformed, RandomBytesNeverCrash) {
  std::mt19937 random(20240917);
  std::uniform_int_distribution<int> byte(0, 255);
  std::uniform_int_distribution<std::size_t> size(0, 200);
  for (int round = 0; round < 20000; ++round) {
    Frame frame;
    frame.type = static_cast<std::uint16_t>(round % (kTypes + 1));
    frame.payload.resize(size(random));
    for (char& c : frame.payload) c = static_cast<char>(byte(random));
    const Result<Message> result = decode(frame);
    if (!result) {
      EXPECT_EQ(result.error().exit_code, exit_code::kNodeLost);
    }
  }
}

TEST(Malformed, DamagedMessagesNeverCrashAndWhatIsAcceptedIsWhole) {
  std::mt19937 random(7);
  const std::vector<Message> all = samples();
  std::uniform_int_distribution<int> byte(0, 255);
  for (int round = 0; round < 20000; ++round) {
    Frame frame = encode(all[static_cast<std::size_t>(round) % all.size()]);
    if (frame.payload.empty()) continue;
    std::uniform_int_distribution<std::size_t> place(0, frame.payload.size() - 1);
    for (int damage = 0; damage <= round % 3; ++damage) {
      frame.payload[place(random)] = static_cast<char>(byte(random));
    }
    const Result<Message> result = decode(frame);
    if (result && frame.type != encode(Hello{}).type) {
      EXPECT_EQ(decode(encode(*result)).value(), *result);
    }
  }
}

TEST(Malformed, RandomStreamsNeverCrashTheReader) {
  std::mt19937 random(11);
  std::uniform_int_distribution<int> byte(0, 255);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (const Message& message : {Message(Notice{"a"}), Message(Heartbeat{})}) {
      append_frame(encode(message), bytes);
    }
    std::uniform_int_distribution<std::size_t> place(0, bytes.size() - 1);
    bytes[place(random)] = static_cast<char>(byte(random));
    FrameReader reader;
    reader.feed(bytes);
    for (int i = 0; i < 4; ++i) {
      const Result<std::optional<Frame>> frame = reader.next();
      if (!frame || !*frame) break;
      (void)decode(**frame).has_value();
    }
  }
}

}  // namespace
}  // namespace dlaunch::wire
