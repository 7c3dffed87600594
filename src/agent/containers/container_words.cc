#include "agent/containers/container_words.h"

#include <array>
#include <charconv>
#include <utility>

namespace dlaunch {

namespace {

constexpr std::string_view kGreeting = "dlaunch-enter-1";
constexpr std::uint32_t kMostRank = (1U << 20) - 1;
constexpr int kMostSignal = 64;
constexpr int kMostErrno = 4095;
constexpr std::size_t kMostWords = 1'000'000;

constexpr std::array<std::pair<EntryDemand::Kind, std::string_view>, 4> kDemands = {{
    {EntryDemand::Kind::order, "order"},
    {EntryDemand::Kind::signal, "signal"},
    {EntryDemand::Kind::pass, "pass"},
    {EntryDemand::Kind::kill, "kill"},
}};

class Writer {
 public:
  Writer& word(std::string_view word) {
    text_ += word;
    text_ += '\0';
    return *this;
  }
  Writer& number(std::uint64_t number) { return word(std::to_string(number)); }
  Writer& words(const std::vector<std::string>& words) {
    number(words.size());
    for (const std::string& one : words) word(one);
    return *this;
  }
  Writer& environment(const Environment& environment) {
    number(environment.size());
    for (const auto& [name, value] : environment) word(name + '=' + value);
    return *this;
  }
  [[nodiscard]] std::string text() { return std::move(text_); }

 private:
  std::string text_;
};

/// After the first word that is not there, or not what it should be, nothing is.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::string word() {
    const auto end = rest_.find('\0');
    good_ = good_ && end != std::string_view::npos;
    if (!good_) return {};
    std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return word;
  }
  template <class Number>
  Number number(Number most) {
    const std::string text = word();
    Number value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    good_ = good_ && error == std::errc() && end == text.data() + text.size() && value <= most &&
            !(value < Number());
    return good_ ? value : Number();
  }
  std::vector<std::string> words() {
    const auto count = number<std::size_t>(kMostWords);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < count && good_; ++i) words.push_back(word());
    return words;
  }
  Environment environment() {
    Environment environment;
    for (const std::string& entry : words()) {
      const auto equals = entry.find('=');
      good_ = good_ && equals != std::string::npos && equals > 0;
      if (good_) environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
    return environment;
  }
  /// Everything was there, and nothing more.
  [[nodiscard]] bool is_done() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

struct NewsWriter {
  std::string operator()(const EntryStarted& started) const {
    return Writer().word("started").number(static_cast<std::uint64_t>(started.pid)).text();
  }
  std::string operator()(const StartFailure& failure) const {
    return Writer()
        .word("failed")
        .number(static_cast<std::uint64_t>(failure.step))
        .number(static_cast<std::uint64_t>(failure.error_number))
        .word(failure.path)
        .word(failure.search_path)
        .text();
  }
  std::string operator()(const ExitStatus& status) const {
    return Writer()
        .word("ended")
        .number(status.signaled ? 1 : 0)
        .number(static_cast<std::uint64_t>(status.value))
        .number(status.core_dumped ? 1 : 0)
        .text();
  }
};

}  // namespace

std::string encode(const EntryOrder& order) {
  std::vector<std::string> cpus;
  for (const int cpu : order.cpus) cpus.push_back(std::to_string(cpu));
  return Writer()
      .words(order.argv)
      .number(order.is_own_shell ? 1 : 0)
      .number(order.has_pmi ? 1 : 0)
      .word(order.workdir)
      .environment(order.defaults)
      .environment(order.variables)
      .words(cpus)
      .number(order.open_files)
      .number(order.open_files_hard)
      .text();
}

std::optional<EntryOrder> decode_order(std::string_view text) {
  constexpr int kMostCpu = 65535;
  Reader reader(text);
  EntryOrder order;
  order.argv = reader.words();
  order.is_own_shell = reader.number(1) == 1;
  order.has_pmi = reader.number(1) == 1;
  order.workdir = reader.word();
  order.defaults = reader.environment();
  order.variables = reader.environment();
  for (const std::string& cpu : reader.words())
    order.cpus.push_back(Reader(cpu + '\0').number(kMostCpu));
  order.open_files = reader.number(~std::uint64_t{0});
  order.open_files_hard = reader.number(~std::uint64_t{0});
  if (!reader.is_done() || order.argv.empty()) return std::nullopt;
  return order;
}

std::string encode_entering(Rank rank) {
  return Writer().word(kGreeting).number(rank.value).text();
}

std::optional<Rank> decode_entering(std::string_view text) {
  Reader reader(text);
  if (reader.word() != kGreeting) return std::nullopt;
  const auto rank = reader.number(kMostRank);
  return reader.is_done() ? std::optional(Rank(rank)) : std::nullopt;
}

std::string encode(const EntryNews& news) {
  return std::visit(NewsWriter{}, news);
}

std::optional<EntryNews> decode_news(std::string_view text) {
  Reader reader(text);
  const std::string kind = reader.word();
  EntryNews news;
  if (kind == "started") {
    news = EntryStarted{reader.number(1 << 22)};
  } else if (kind == "failed") {
    StartFailure failure;
    failure.step = static_cast<StartFailure::Step>(
        reader.number(static_cast<int>(StartFailure::Step::container)));
    failure.error_number = reader.number(kMostErrno);
    failure.path = reader.word();
    failure.search_path = reader.word();
    news = std::move(failure);
  } else if (kind == "ended") {
    ExitStatus status;
    status.signaled = reader.number(1) == 1;
    status.value = reader.number(255);
    status.core_dumped = reader.number(1) == 1;
    news = std::move(status);
  } else {
    return std::nullopt;
  }
  return reader.is_done() ? std::optional(std::move(news)) : std::nullopt;
}

std::string encode(const EntryDemand& demand) {
  Writer writer;
  for (const auto& [kind, name] : kDemands) {
    if (kind == demand.kind) writer.word(name);
  }
  return writer.number(static_cast<std::uint64_t>(demand.signal)).text();
}

std::optional<EntryDemand> decode_demand(std::string_view text) {
  Reader reader(text);
  const std::string word = reader.word();
  const int signal = reader.number(kMostSignal);
  for (const auto& [kind, name] : kDemands) {
    if (name == word && reader.is_done()) return EntryDemand{kind, signal};
  }
  return std::nullopt;
}

}  // namespace dlaunch
