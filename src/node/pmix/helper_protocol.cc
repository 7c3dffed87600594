#include "node/pmix/helper_protocol.h"

#include <array>
#include <tuple>

#include "wire/bytes.h"

namespace dlaunch::pmix {

namespace {

constexpr std::size_t kHead = 5;  // length and type

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  void put(std::uint32_t number) { wire::append_little_endian(number, out_); }
  void put(std::int32_t number) { wire::append_little_endian(number, out_); }
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    out_ += text;
  }
  void put(const RankSpan& span) {
    put(span.first.value);
    put(span.count);
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(static_cast<std::uint32_t>(list.size()));
    for (const T& item : list) put(item);
  }
  template <class T>
  auto put(const T& part) -> decltype(T::fields(part), void()) {
    std::apply([&](const auto&... field) { (put(field), ...); }, T::fields(part));
  }

 private:
  std::string& out_;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  void get(std::uint32_t& number) {
    if (!has(4)) return;
    number = wire::little_endian_at<std::uint32_t>(in_, 0);
    in_.remove_prefix(4);
  }
  void get(std::int32_t& number) {
    std::uint32_t bits = 0;
    get(bits);
    number = static_cast<std::int32_t>(bits);
  }
  void get(std::string& text) {
    std::uint32_t size = 0;
    get(size);
    if (!has(size)) return;
    text = in_.substr(0, size);
    in_.remove_prefix(size);
  }
  void get(RankSpan& span) {
    get(span.first.value);
    get(span.count);
  }
  template <class T>
  void get(std::vector<T>& list) {
    std::uint32_t count = 0;
    get(count);
    // An item takes at least four bytes. A count that is too large for the remaining bytes is wrong
    // and must not make us allocate memory.
    if (!has(std::size_t{4} * count)) return;
    for (std::uint32_t i = 0; i < count && ok_; ++i) get(list.emplace_back());
  }
  template <class T>
  auto get(T& part) -> decltype(T::fields(part), void()) {
    std::apply([&](auto&... field) { (get(field), ...); }, T::fields(part));
  }
  [[nodiscard]] bool is_complete() const { return ok_ && in_.empty(); }

 private:
  bool has(std::size_t size) { return ok_ = ok_ && in_.size() >= size; }

  std::string_view in_;
  bool ok_ = true;
};

template <class T>
std::optional<HelperMessage> read(std::string_view payload) {
  T message;
  Reader reader(payload);
  reader.get(message);
  if (!reader.is_complete()) return std::nullopt;
  return HelperMessage(std::move(message));
}

using Read = std::optional<HelperMessage> (*)(std::string_view);

template <std::size_t... I>
constexpr std::array<Read, sizeof...(I)> readers(std::index_sequence<I...>) {
  return {read<std::variant_alternative_t<I, HelperMessage>>...};
}

constexpr std::size_t kTypes = std::variant_size_v<HelperMessage>;
constexpr std::array<Read, kTypes> kReaders = readers(std::make_index_sequence<kTypes>{});

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(exit_code::kInternal, "malformed frame of dlaunch-pmix: " + what);
}

}  // namespace

std::string encode(const HelperMessage& message) {
  std::string payload;
  std::visit([writer = Writer(payload)](const auto& one) mutable { writer.put(one); }, message);
  std::string frame;
  frame.reserve(kHead + payload.size());
  wire::append_little_endian(static_cast<std::uint32_t>(1 + payload.size()), frame);
  frame.push_back(static_cast<char>(message.index()));
  return frame += payload;
}

Result<std::optional<HelperMessage>> HelperReader::next() {
  const std::string_view left = std::string_view(bytes_).substr(begin_);
  const std::size_t size =
      left.size() < 4 ? kMostFrame : wire::little_endian_at<std::uint32_t>(left, 0);
  if (size > kMostFrame) return malformed("it has " + std::to_string(size) + " bytes");
  if (size == 0) return malformed("it is empty");
  if (left.size() < 4 + size) {
    bytes_.erase(0, begin_);
    begin_ = 0;
    return std::optional<HelperMessage>();
  }
  const auto type = static_cast<std::uint8_t>(left[4]);
  if (type >= kTypes) return malformed("its type " + std::to_string(type) + " is unknown");
  auto message = kReaders[type](left.substr(kHead, size - 1));
  if (!message) return malformed("type " + std::to_string(type) + " has wrong fields");
  begin_ += 4 + size;
  return message;
}

}  // namespace dlaunch::pmix
