#include "pmix/frames.h"

#include <array>
#include <type_traits>

namespace dlaunch::pmix {

namespace {

constexpr std::size_t kHead = 5;  // length and type

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  template <class... Fields>
  void operator()(Fields&... fields) {
    (put(fields), ...);
  }

 private:
  void put(std::uint32_t number) {
    for (unsigned shift = 0; shift < 32; shift += 8)
      out_.push_back(static_cast<char>(number >> shift));
  }
  void put(std::int32_t number) { put(static_cast<std::uint32_t>(number)); }
  void put(Rank rank) { put(rank.value); }
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    out_ += text;
  }
  void put(RankSpan& span) { (*this)(span.first, span.count); }
  template <class T>
  void put(std::vector<T>& list) {
    put(static_cast<std::uint32_t>(list.size()));
    for (T& item : list) put(item);
  }
  template <class T>
  auto put(T& part) -> decltype(part.carry(*this)) {
    part.carry(*this);
  }

  std::string& out_;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  template <class... Fields>
  void operator()(Fields&... fields) {
    (get(fields), ...);
  }
  [[nodiscard]] bool whole() const { return ok_ && in_.empty(); }

 private:
  void get(std::uint32_t& number) {
    if (!has(4)) return;
    number = 0;
    for (std::size_t i = 4; i-- > 0;) number = (number << 8) | static_cast<std::uint8_t>(in_[i]);
    in_.remove_prefix(4);
  }
  void get(std::int32_t& number) {
    std::uint32_t bits = 0;
    get(bits);
    number = static_cast<std::int32_t>(bits);
  }
  void get(Rank& rank) { get(rank.value); }
  void get(std::string& text) {
    std::uint32_t size = 0;
    get(size);
    if (!has(size)) return;
    text = in_.substr(0, size);
    in_.remove_prefix(size);
  }
  void get(RankSpan& span) { (*this)(span.first, span.count); }
  template <class T>
  void get(std::vector<T>& list) {
    std::uint32_t count = 0;
    get(count);
    // Every item takes at least four bytes: a count that announces more is wrong.
    if (!has(std::size_t{4} * count)) return;
    for (std::uint32_t i = 0; i < count && ok_; ++i) get(list.emplace_back());
  }
  template <class T>
  auto get(T& part) -> decltype(part.carry(*this)) {
    part.carry(*this);
  }
  bool has(std::size_t size) { return ok_ = ok_ && in_.size() >= size; }

  std::string_view in_;
  bool ok_ = true;
};

template <class T>
std::optional<HelperMessage> read(std::string_view payload) {
  T message;
  Reader reader(payload);
  message.carry(reader);
  if (!reader.whole()) return std::nullopt;
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

std::uint32_t number_at(std::string_view bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = 4; i-- > 0;) number = (number << 8) | static_cast<std::uint8_t>(bytes[i]);
  return number;
}

}  // namespace

std::string encode(const HelperMessage& message) {
  std::string out(4, '\0');
  out.push_back(static_cast<char>(message.index()));
  Writer writer(out);
  // carry() serves reading too, so it is not const; writing changes nothing.
  std::visit([&](const auto& one) { const_cast<std::decay_t<decltype(one)>&>(one).carry(writer); },
             message);
  const auto size = static_cast<std::uint32_t>(out.size() - 4);
  for (unsigned i = 0; i < 4; ++i) out[i] = static_cast<char>(size >> (8 * i));
  return out;
}

Result<std::optional<HelperMessage>> HelperReader::next() {
  const std::string_view left = std::string_view(bytes_).substr(begin_);
  if (left.size() >= 4 && number_at(left) > kMostFrame)
    return malformed("it has " + std::to_string(number_at(left)) + " bytes");
  if (left.size() >= 4 && number_at(left) == 0) return malformed("it is empty");
  if (left.size() < kHead || left.size() - 4 < number_at(left)) {
    bytes_.erase(0, begin_);
    begin_ = 0;
    return std::optional<HelperMessage>();
  }
  const std::size_t size = number_at(left);
  const auto type = static_cast<std::uint8_t>(left[4]);
  if (type >= kTypes) return malformed("it has the type " + std::to_string(type));
  auto message = kReaders[type](left.substr(kHead, size - 1));
  if (!message) return malformed("type " + std::to_string(type) + " is not as it should be");
  begin_ += 4 + size;
  return message;
}

}  // namespace dlaunch::pmix
