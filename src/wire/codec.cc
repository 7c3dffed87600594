#include "wire/codec.h"

#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "wire/bytes.h"
#include "wire/cbor.h"
#include "wire/decoder.h"
#include "wire/encoder.h"
#include "wire/framer.h"

namespace dlaunch::wire {

namespace {

template <class T>
struct Named {
  using Message = T;
  const char* name;
};

/// All messages. The type of a message is its position here, counted from 1.
constexpr std::tuple kMessages{Named<Hello>{"Hello"},
                               Named<Heartbeat>{"Heartbeat"},
                               Named<Ack>{"Ack"},
                               Named<Bye>{"Bye"},
                               Named<FactsRequest>{"FactsRequest"},
                               Named<StartRanks>{"StartRanks"},
                               Named<StopRanks>{"StopRanks"},
                               Named<KillRanks>{"KillRanks"},
                               Named<OutputCredit>{"OutputCredit"},
                               Named<StdinData>{"StdinData"},
                               Named<Facts>{"Facts"},
                               Named<RanksStarted>{"RanksStarted"},
                               Named<RankNotStarted>{"RankNotStarted"},
                               Named<RankExited>{"RankExited"},
                               Named<OutputData>{"OutputData"},
                               Named<OutputEnd>{"OutputEnd"},
                               Named<StdinTaken>{"StdinTaken"},
                               Named<AttemptEnded>{"AttemptEnded"},
                               Named<Notice>{"Notice"},
                               Named<PortTaken>{"PortTaken"},
                               Named<CheckPrerequisites>{"CheckPrerequisites"},
                               Named<FetchOutput>{"FetchOutput"},
                               Named<ForgetOutput>{"ForgetOutput"},
                               Named<PrerequisitesMissing>{"PrerequisitesMissing"},
                               Named<FetchedOutput>{"FetchedOutput"},
                               Named<Resume>{"Resume"},
                               Named<OpenDoor>{"OpenDoor"},
                               Named<Knock>{"Knock"},
                               Named<CloseDoor>{"CloseDoor"},
                               Named<DoorOpen>{"DoorOpen"},
                               Named<Knocked>{"Knocked"},
                               Named<SyncBegin>{"SyncBegin"},
                               Named<SyncEntries>{"SyncEntries"},
                               Named<SyncSettled>{"SyncSettled"},
                               Named<SyncRemove>{"SyncRemove"},
                               Named<SyncData>{"SyncData"},
                               Named<SyncEnd>{"SyncEnd"},
                               Named<SyncFolder>{"SyncFolder"},
                               Named<SyncWants>{"SyncWants"},
                               Named<SyncTaken>{"SyncTaken"},
                               Named<SyncDone>{"SyncDone"},
                               Named<PreparePmix>{"PreparePmix"},
                               Named<PmixReady>{"PmixReady"},
                               Named<PmixFence>{"PmixFence"},
                               Named<PmixWanted>{"PmixWanted"},
                               Named<PmixData>{"PmixData"},
                               Named<SignalRanks>{"SignalRanks"},
                               Named<Signalled>{"Signalled"},
                               Named<RanksAwaited>{"RanksAwaited"},
                               Named<StartMpirun>{"StartMpirun"},
                               Named<MpirunOutput>{"MpirunOutput"},
                               Named<MpirunEnded>{"MpirunEnded"},
                               Named<Deadline>{"Deadline"},
                               Named<Inspect>{"Inspect"},
                               Named<Inspected>{"Inspected"},
                               Named<TakeStacks>{"TakeStacks"},
                               Named<StacksTaken>{"StacksTaken"},
                               Named<Pulse>{"Pulse"},
                               Named<OpenTerminal>{"OpenTerminal"},
                               Named<TerminalInput>{"TerminalInput"},
                               Named<ResizeTerminal>{"ResizeTerminal"},
                               Named<TerminalTaken>{"TerminalTaken"},
                               Named<CloseTerminal>{"CloseTerminal"},
                               Named<TerminalOutput>{"TerminalOutput"},
                               Named<TerminalEnded>{"TerminalEnded"},
                               Named<PySpyData>{"PySpyData"},
                               Named<PySpyTaken>{"PySpyTaken"},
                               Named<PreemptionNotice>{"PreemptionNotice"},
                               Named<SeeCheckpoints>{"SeeCheckpoints"},
                               Named<CheckpointsSeen>{"CheckpointsSeen"},
                               Named<StageBegin>{"StageBegin"},
                               Named<StageEntries>{"StageEntries"},
                               Named<StageStream>{"StageStream"},
                               Named<StageHashes>{"StageHashes"},
                               Named<StageServe>{"StageServe"},
                               Named<StageFeed>{"StageFeed"},
                               Named<StageData>{"StageData"},
                               Named<StageOver>{"StageOver"},
                               Named<StageWants>{"StageWants"},
                               Named<StageReady>{"StageReady"},
                               Named<StageListening>{"StageListening"},
                               Named<StageLinked>{"StageLinked"},
                               Named<StageProgress>{"StageProgress"},
                               Named<StageDone>{"StageDone"},
                               Named<CollectBegin>{"CollectBegin"},
                               Named<CollectDone>{"CollectDone"},
                               Named<StageClaimed>{"StageClaimed"},
                               Named<SeeStaged>{"SeeStaged"},
                               Named<StagedSeen>{"StagedSeen"},
                               Named<ServeProgram>{"ServeProgram"},
                               Named<ProgramServed>{"ProgramServed"},
                               Named<StageFrom>{"StageFrom"},
                               Named<StageLetter>{"StageLetter"},
                               Named<StageSaid>{"StageSaid"},
                               Named<StageReported>{"StageReported"},
                               Named<StageLost>{"StageLost"}};
static_assert(std::tuple_size_v<decltype(kMessages)> == kTypes);

template <std::size_t I>
using MessageAt = typename std::tuple_element_t<I, decltype(kMessages)>::Message;

template <class T, std::size_t I = 0>
constexpr std::uint16_t type_of() {
  if constexpr (std::is_same_v<T, MessageAt<I>>) {
    return I + 1;
  } else {
    return type_of<T, I + 1>();
  }
}

tl::unexpected<Error> malformed(std::uint16_t type, const std::string& what) {
  return fail(exit_code::kNodeLost,
              std::string("malformed ") + type_name(type) + " message: " + what);
}

// ---- raw payloads; offsets in docs/internals/wire-protocol.md

constexpr std::size_t kOutputHeader = 20;
constexpr std::size_t kStdinHeader = 4;
constexpr std::size_t kSyncHeader = 4;
constexpr std::size_t kPieceHeader = 16;
constexpr std::size_t kFenceHeader = 24;
constexpr std::size_t kSpanSize = 8;
constexpr std::size_t kDataHeader = 12;
constexpr std::size_t kInputHeader = 4;
constexpr std::size_t kTerminalHeader = 8;
constexpr std::size_t kPySpyHeader = 16;
constexpr std::size_t kStageHeader = 8;
constexpr std::size_t kLetterHeader = 10;

void write_head(const OutputData& data, std::string& out) {
  append_little_endian(data.attempt.value, out);
  append_little_endian(data.rank.value, out);
  append_little_endian(static_cast<std::uint32_t>(data.stream), out);
  append_little_endian(data.offset, out);
}

void write(const OutputData& data, std::string& out) {
  out.reserve(kOutputHeader + data.bytes.size());
  write_head(data, out);
  out += data.bytes;
}

void write(const FetchedOutput& data, std::string& out) {
  out.reserve(kOutputHeader + data.bytes.size());
  append_little_endian(data.attempt.value, out);
  append_little_endian(data.rank.value, out);
  append_little_endian(static_cast<std::uint32_t>(data.part), out);
  append_little_endian(data.offset, out);
  out += data.bytes;
}

void write(const StdinData& data, std::string& out) {
  append_little_endian(data.attempt.value, out);
  out += data.bytes;
}

void write(const SyncData& data, std::string& out) {
  std::size_t size = kSyncHeader;
  for (const SyncData::Piece& piece : data.pieces) size += kPieceHeader + piece.bytes.size();
  out.reserve(size);
  append_little_endian(data.id, out);
  for (const SyncData::Piece& piece : data.pieces) {
    append_little_endian(piece.entry, out);
    append_little_endian(piece.offset, out);
    append_little_endian(static_cast<std::uint32_t>(piece.bytes.size()), out);
    out += piece.bytes;
  }
}

void write(const PmixFence& fence, std::string& out) {
  out.reserve(kFenceHeader + kSpanSize * fence.members.size() + fence.bytes.size());
  append_little_endian(fence.attempt.value, out);
  append_little_endian(fence.counter, out);
  append_little_endian(fence.status, out);
  append_little_endian(std::uint32_t{fence.pmi1}, out);
  append_little_endian(static_cast<std::uint32_t>(fence.members.size()), out);
  for (const RankSpan& span : fence.members) {
    append_little_endian(span.first.value, out);
    append_little_endian(span.count, out);
  }
  out += fence.bytes;
}

void write(const PmixData& data, std::string& out) {
  out.reserve(kDataHeader + data.bytes.size());
  append_little_endian(data.attempt.value, out);
  append_little_endian(data.id, out);
  append_little_endian(data.status, out);
  out += data.bytes;
}

void write(const TerminalInput& input, std::string& out) {
  append_little_endian(input.id, out);
  out += input.bytes;
}

void write(const TerminalOutput& output, std::string& out) {
  append_little_endian(output.id, out);
  append_little_endian(static_cast<std::uint32_t>(output.stream), out);
  out += output.bytes;
}

void write(const PySpyData& data, std::string& out) {
  out.reserve(kPySpyHeader + data.bytes.size());
  append_little_endian(data.offset, out);
  append_little_endian(data.size, out);
  out += data.bytes;
}

void write(const StageData& data, std::string& out) {
  out.reserve(kStageHeader + data.bytes.size());
  append_little_endian(data.id, out);
  append_little_endian(data.link, out);
  out += data.bytes;
}

void write(const StageLetter& letter, std::string& out) {
  out.reserve(kLetterHeader + letter.payload.size());
  append_little_endian(letter.id, out);
  append_little_endian(letter.node.value, out);
  append_little_endian(letter.type, out);
  out += letter.payload;
}

template <HasFields T>
void write(const T& message, std::string& out) {
  Encoder(out).put(message);
}

Result<OutputData> read(const FrameView& frame, OutputData data) {
  const std::string_view bytes = frame.payload;
  if (bytes.size() < kOutputHeader) return malformed(frame.type, "it is cut short");
  const auto stream = little_endian_at<std::uint32_t>(bytes, 8);
  data.attempt = Attempt(little_endian_at<std::uint32_t>(bytes, 0));
  data.rank = Rank(little_endian_at<std::uint32_t>(bytes, 4));
  data.offset = little_endian_at<std::uint64_t>(bytes, 12);
  if (data.rank.value > kRank.max) return malformed(frame.type, "field \"rank\": out of range");
  if (stream != 1 && stream != 2) return malformed(frame.type, "field \"stream\": expected 1 or 2");
  // The end of the data must not overflow either.
  if (data.offset > std::numeric_limits<std::uint64_t>::max() - kMaxPayload) {
    return malformed(frame.type, "field \"offset\": out of range");
  }
  data.stream = static_cast<Stream>(stream);
  data.bytes = bytes.substr(kOutputHeader);
  return data;
}

Result<FetchedOutput> read(const FrameView& frame, FetchedOutput data) {
  const std::string_view bytes = frame.payload;
  if (bytes.size() < kOutputHeader) return malformed(frame.type, "it is cut short");
  if (bytes.size() - kOutputHeader > kMostFetched) {
    return malformed(frame.type, "more than " + std::to_string(kMostFetched) + " bytes");
  }
  const auto part = little_endian_at<std::uint32_t>(bytes, 8);
  data.attempt = Attempt(little_endian_at<std::uint32_t>(bytes, 0));
  data.rank = Rank(little_endian_at<std::uint32_t>(bytes, 4));
  data.offset = little_endian_at<std::uint64_t>(bytes, 12);
  if (data.rank.value > kRank.max) return malformed(frame.type, "field \"rank\": out of range");
  if (part < 1 || part > 3) return malformed(frame.type, "field \"part\": expected 1 to 3");
  if (data.offset > std::numeric_limits<std::uint64_t>::max() - kMaxPayload)
    return malformed(frame.type, "field \"offset\": out of range");
  data.part = static_cast<OutputPart>(part);
  data.bytes = frame.payload.substr(kOutputHeader);
  return data;
}

Result<StdinData> read(const FrameView& frame, StdinData data) {
  if (frame.payload.size() < kStdinHeader) return malformed(frame.type, "it is cut short");
  data.attempt = Attempt(little_endian_at<std::uint32_t>(frame.payload, 0));
  data.bytes = frame.payload.substr(kStdinHeader);
  return data;
}

Result<SyncData> read(const FrameView& frame, SyncData data) {
  std::string_view rest = frame.payload;
  if (rest.size() < kSyncHeader) return malformed(frame.type, "it is cut short");
  data.id = little_endian_at<std::uint32_t>(rest, 0);
  rest.remove_prefix(kSyncHeader);
  while (!rest.empty()) {
    if (rest.size() < kPieceHeader) return malformed(frame.type, "it is cut short");
    const auto size = little_endian_at<std::uint32_t>(rest, 12);
    SyncData::Piece piece{
        little_endian_at<std::uint32_t>(rest, 0), little_endian_at<std::uint64_t>(rest, 4), {}};
    if (piece.offset > std::numeric_limits<std::uint64_t>::max() - kMaxPayload)
      return malformed(frame.type, "field \"offset\": out of range");
    rest.remove_prefix(kPieceHeader);
    if (rest.size() < size) return malformed(frame.type, "it is cut short");
    piece.bytes = rest.substr(0, size);
    data.pieces.push_back(std::move(piece));
    rest.remove_prefix(size);
  }
  return data;
}

Result<PmixFence> read(const FrameView& frame, PmixFence fence) {
  const std::string_view bytes = frame.payload;
  if (bytes.size() < kFenceHeader) return malformed(frame.type, "it is cut short");
  fence.attempt = Attempt(little_endian_at<std::uint32_t>(bytes, 0));
  fence.counter = little_endian_at<std::uint64_t>(bytes, 4);
  fence.status = little_endian_at<std::int32_t>(bytes, 12);
  const auto pmi1 = little_endian_at<std::uint32_t>(bytes, 16);
  if (pmi1 > 1) return malformed(frame.type, "field \"pmi1\": expected 0 or 1");
  fence.pmi1 = pmi1 == 1;
  const std::size_t spans = little_endian_at<std::uint32_t>(bytes, 20);
  if (spans > kMostSpans) return malformed(frame.type, "field \"members\": too many");
  if (bytes.size() - kFenceHeader < spans * kSpanSize)
    return malformed(frame.type, "it is cut short");
  std::size_t at = kFenceHeader;
  for (std::size_t i = 0; i < spans; ++i, at += kSpanSize) {
    const RankSpan span{Rank(little_endian_at<std::uint32_t>(bytes, at)),
                        little_endian_at<std::uint32_t>(bytes, at + 4)};
    if (span.first.value > kRank.max || span.count < kSpan.min || span.count > kSpan.max)
      return malformed(frame.type, "field \"members\": out of range");
    fence.members.push_back(span);
  }
  fence.bytes = frame.payload.substr(at);
  return fence;
}

Result<PmixData> read(const FrameView& frame, PmixData data) {
  if (frame.payload.size() < kDataHeader) return malformed(frame.type, "it is cut short");
  data.attempt = Attempt(little_endian_at<std::uint32_t>(frame.payload, 0));
  data.id = little_endian_at<std::uint32_t>(frame.payload, 4);
  data.status = little_endian_at<std::int32_t>(frame.payload, 8);
  data.bytes = frame.payload.substr(kDataHeader);
  return data;
}

Result<TerminalInput> read(const FrameView& frame, TerminalInput input) {
  if (frame.payload.size() < kInputHeader) return malformed(frame.type, "it is cut short");
  input.id = little_endian_at<std::uint32_t>(frame.payload, 0);
  input.bytes = frame.payload.substr(kInputHeader);
  return input;
}

Result<TerminalOutput> read(const FrameView& frame, TerminalOutput output) {
  if (frame.payload.size() < kTerminalHeader) return malformed(frame.type, "it is cut short");
  const auto stream = little_endian_at<std::uint32_t>(frame.payload, 4);
  if (stream != 1 && stream != 2) return malformed(frame.type, "field \"stream\": expected 1 or 2");
  output.id = little_endian_at<std::uint32_t>(frame.payload, 0);
  output.stream = static_cast<Stream>(stream);
  output.bytes = frame.payload.substr(kTerminalHeader);
  return output;
}

Result<PySpyData> read(const FrameView& frame, PySpyData data) {
  if (frame.payload.size() < kPySpyHeader) return malformed(frame.type, "it is cut short");
  data.offset = little_endian_at<std::uint64_t>(frame.payload, 0);
  data.size = little_endian_at<std::uint64_t>(frame.payload, 8);
  data.bytes = frame.payload.substr(kPySpyHeader);
  if (data.size == 0 || data.size > kMostPySpy)
    return malformed(frame.type, "field \"size\": out of range");
  if (data.offset > data.size || data.bytes.size() > data.size - data.offset)
    return malformed(frame.type, "field \"offset\": out of range");
  return data;
}

Result<StageData> read(const FrameView& frame, StageData data) {
  if (frame.payload.size() < kStageHeader) return malformed(frame.type, "it is cut short");
  data.id = little_endian_at<std::uint32_t>(frame.payload, 0);
  data.link = little_endian_at<std::uint32_t>(frame.payload, 4);
  data.bytes = frame.payload.substr(kStageHeader);
  return data;
}

Result<StageLetter> read(const FrameView& frame, StageLetter letter) {
  if (frame.payload.size() < kLetterHeader) return malformed(frame.type, "it is cut short");
  letter.id = little_endian_at<std::uint32_t>(frame.payload, 0);
  letter.node = NodeId(little_endian_at<std::uint32_t>(frame.payload, 4));
  letter.type = little_endian_at<std::uint16_t>(frame.payload, 8);
  letter.payload = frame.payload.substr(kLetterHeader);
  return letter;
}

/// The part of a Hello that means the same in every version of the protocol.
struct Greeting {
  std::uint32_t protocol = 0;
  std::string build_id;
};

}  // namespace

template <>
inline constexpr auto kFields<Greeting> =
    std::tuple{field("protocol", &Greeting::protocol), field("build_id", &Greeting::build_id)};

namespace {

/// nullopt: the sender speaks our version, or the payload is not a Hello at all.
std::optional<Hello> hello_of_another_version(std::string_view payload) {
  Greeting greeting;
  if (!Decoder(payload).get(greeting) || greeting.protocol == kProtocolVersion) return std::nullopt;
  Hello hello;
  hello.protocol = greeting.protocol;
  hello.build_id = std::move(greeting.build_id);
  return hello;
}

template <HasFields T>
Result<T> read(const FrameView& frame, T message) {
  if (Status ok = cbor::check(frame.payload, kMaxNesting); !ok) {
    return malformed(frame.type, ok.error().message);
  }
  if constexpr (std::is_same_v<T, Hello>) {
    if (std::optional<Hello> other = hello_of_another_version(frame.payload))
      return *std::move(other);
  }
  Decoder decoder(frame.payload);
  if (!decoder.get(message)) return malformed(frame.type, decoder.problem());
  return message;
}

template <class Messages>
using Reader = Result<Messages> (*)(const FrameView&);

/// nullptr: Messages does not contain T.
template <class Messages, class T>
constexpr Reader<Messages> reader_of() {
  if constexpr (OneOf<T, Messages>) {
    return [](const FrameView& frame) -> Result<Messages> { return read(frame, T{}); };
  } else {
    return nullptr;
  }
}

template <class Messages, std::size_t... I>
constexpr std::array<Reader<Messages>, kTypes> readers(std::index_sequence<I...>) {
  return {reader_of<Messages, MessageAt<I>>()...};
}

template <class Messages>
Frame encode_one_of(const Messages& message) {
  Frame frame;
  std::visit(
      [&](const auto& one) {
        frame.type = type_of<std::decay_t<decltype(one)>>();
        write(one, frame.payload);
      },
      message);
  return frame;
}

}  // namespace

Frame encode_message(const ToAgent& message) {
  return encode_one_of(message);
}
Frame encode_message(const FromAgent& message) {
  return encode_one_of(message);
}
Frame encode_message(const ChannelMessage& message) {
  return encode_one_of(message);
}

template <class Messages>
Result<Messages> decode(const FrameView& frame) {
  static constexpr auto kReaders = readers<Messages>(std::make_index_sequence<kTypes>{});
  if (frame.type == 0 || frame.type > kTypes) {
    return fail(exit_code::kNodeLost,
                "malformed frame: no message has type " + std::to_string(frame.type));
  }
  if (kReaders[frame.type - 1U] == nullptr) return malformed(frame.type, "it is for the other direction");
  if (frame.payload.size() > kMaxPayload) {
    return malformed(frame.type, "its payload exceeds " + std::to_string(kMaxPayload) + " bytes");
  }
  return kReaders[frame.type - 1U](frame);
}

template Result<ToAgent> decode(const FrameView&);
template Result<FromAgent> decode(const FrameView&);
template Result<ChannelMessage> decode(const FrameView&);

void append_output_header(const OutputData& output, std::uint32_t node, std::uint64_t session,
                          std::string& out) {
  append_header({type_of<OutputData>(), node, session, 0, {}}, kOutputHeader + output.bytes.size(),
                out);
  write_head(output, out);
}

bool is_sequenced(std::uint16_t type) {
  return type != type_of<Ack>() && type != type_of<Heartbeat>() && type != type_of<OutputData>() &&
         type != type_of<Resume>();
}

bool is_channels_own(std::uint16_t type) {
  return type == type_of<Ack>() || type == type_of<Resume>();
}

bool is_resume(std::uint16_t type) {
  return type == type_of<Resume>();
}

const char* type_name(std::uint16_t type) {
  static constexpr auto kNames = std::apply(
      [](const auto&... one) { return std::array<const char*, kTypes>{one.name...}; }, kMessages);
  return type == 0 || type > kTypes ? "unknown" : kNames[type - 1U];
}

}  // namespace dlaunch::wire
