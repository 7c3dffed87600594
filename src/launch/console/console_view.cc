#include "launch/console/console_view.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "text/utf8.h"

namespace dlaunch {

namespace {

// ISO 6429 foreground colours that are readable on dark and light backgrounds; red is reserved for
// errors.
constexpr std::array<std::string_view, 5> kColours = {"36", "32", "35", "33", "34"};

std::size_t index_of(Stream stream) {
  return stream == Stream::out ? 0 : 1;
}

/// The prefix also resets attributes that the line before it left on.
std::string make_prefix(std::string_view padded, char mark, std::string_view colour) {
  std::string prefix;
  if (!colour.empty()) prefix.append("\x1b[0;").append(colour).append("m");
  prefix.append(padded).append(" ").append(1, mark);
  if (!colour.empty()) prefix.append("\x1b[0m");
  return prefix.append(" ");
}

}  // namespace

ConsoleView::ConsoleView(ConsoleOptions options, std::vector<std::string> labels)
    : options_(options) {
  const auto shown = std::count_if(labels.begin(), labels.end(),
                                   [](const std::string& label) { return !label.empty(); });
  if (!options_.prefix) {
    if (shown > 1) held_.resize(labels.size());
    return;
  }
  splitters_.resize(labels.size());
  prefixes_.reserve(labels.size());
  std::size_t width = 0;
  for (const std::string& label : labels) width = std::max(width, utf8_length(label));
  for (std::string& label : labels) {
    label.append(width - utf8_length(label), ' ');
    const std::string_view colour =
        options_.colour ? kColours[prefixes_.size() % kColours.size()] : std::string_view{};
    prefixes_.push_back(
        {make_prefix(label, '|', colour), make_prefix(label, '+', colour), width + 3});
  }
}

LineSplitter& ConsoleView::splitter(Rank rank, Stream stream) {
  assert(rank.value < splitters_.size());
  return splitters_[rank.value][index_of(stream)];
}

void ConsoleView::watch_bars(Rank rank, Stream stream) {
  if (splitter(rank, stream).bars() != nullptr) {
    bars_.try_emplace({rank, stream});
  } else if (!bars_.empty()) {
    bars_.erase({rank, stream});
  }
}

void ConsoleView::add(Rank rank, Stream stream, std::string_view bytes, std::string& out) {
  if (bytes.empty()) return;
  if (!options_.prefix) {
    if (held_.empty()) {
      out.append(bytes);
      last_ = bytes.back();
    } else {
      assert(rank.value < held_.size());
      add_plain(held_[rank.value][index_of(stream)], bytes, out);
    }
    return;
  }
  splitter(rank, stream).add(bytes, [&](std::string_view text, bool continues) {
    add_line({rank, stream}, text, continues, out);
  });
  watch_bars(rank, stream);
}

void ConsoleView::finish(Rank rank, Stream stream, std::string& out) {
  if (!options_.prefix) {
    if (held_.empty()) return;
    out.append(std::exchange(held_[rank.value][index_of(stream)], {}));
    return;
  }
  splitter(rank, stream).finish([&](std::string_view text, bool continues) {
    add_line({rank, stream}, text, continues, out);
  });
  watch_bars(rank, stream);
}

void ConsoleView::add_line(Key key, std::string_view text, bool continues, std::string& out) {
  const auto [rank, stream] = key;
  if (prompts_of_ == rank)
    text.remove_prefix(std::min(std::exchange(answered_[index_of(stream)], 0), text.size()));
  const Prefix& prefix = prefixes_[rank.value];
  out.append(continues ? prefix.continued : prefix.first).append(text).append(1, '\n');
}

void ConsoleView::show_prompts_of(Rank rank) {
  if (options_.prefix) prompts_of_ = rank;
}

/// The part to show: all of it, or the part after an answer.
std::string_view ConsoleView::open_line(Stream stream) const {
  if (!prompts_of_) return {};
  const std::size_t at = index_of(stream);
  const std::string_view text = splitters_[prompts_of_->value][at].held_text();
  return text.substr(std::min(answered_[at], text.size()));
}

bool ConsoleView::has_prompt() const {
  return !open_line(Stream::out).empty() || !open_line(Stream::err).empty();
}

bool ConsoleView::answered() {
  if (!has_prompt()) return false;
  for (const Stream stream : {Stream::out, Stream::err})
    answered_[index_of(stream)] += open_line(stream).size();
  return true;
}

std::size_t ConsoleView::drop_partial(Rank rank, Stream stream) {
  if (options_.prefix) return splitter(rank, stream).drop_held();
  if (held_.empty()) return 0;
  return std::exchange(held_[rank.value][index_of(stream)], {}).size();
}

void ConsoleView::add_note(Rank rank, Stream stream, std::string_view note, std::string& out) {
  const std::size_t before = out.size();
  finish(rank, stream, out);
  const char last = out.size() > before ? out.back() : (held_.empty() ? last_ : '\n');
  if (!options_.prefix && last != '\n') out.append(1, '\n');
  if (options_.prefix) out.append(prefixes_[rank.value].first);
  out.append(note).append(1, '\n');
  last_ = '\n';
}

void ConsoleView::settle(std::array<std::string, 2>& out) {
  for (auto at = bars_.begin(); at != bars_.end();) {
    const auto [rank, stream] = at->first;
    LineSplitter& lines = splitter(rank, stream);
    lines.settle([&, this, key = at->first](std::string_view text, bool continues) {
      const Prefix& prefix = prefixes_[key.first.value];
      out[index_of(key.second)]
          .append(continues ? prefix.continued : prefix.first)
          .append(text)
          .append(1, '\n');
    });
    at = lines.bars() == nullptr ? bars_.erase(at) : std::next(at);
  }
}

std::vector<LiveRow> ConsoleView::live_rows() const {
  std::vector<LiveRow> rows;
  for (const auto& [key, shown] : bars_) {
    const Prefix& prefix = prefixes_[key.first.value];
    splitters_[key.first.value][index_of(key.second)].bars()->each([&](std::string_view text) {
      rows.push_back({prefix.first, prefix.columns, text});
    });
  }
  for (const Stream stream : {Stream::out, Stream::err}) {
    const std::string_view prompt = open_line(stream);
    if (prompt.empty()) continue;
    const Prefix& prefix = prefixes_[prompts_of_->value];
    rows.push_back({prefix.first, prefix.columns, prompt});
  }
  return rows;
}

void ConsoleView::show_states(std::array<std::string, 2>& out) {
  for (auto& [key, shown] : bars_) {
    std::string now;
    const Prefix& prefix = prefixes_[key.first.value];
    splitter(key.first, key.second).bars()->each([&](std::string_view text) {
      now.append(prefix.first).append(text).append(1, '\n');
    });
    if (now != shown) out[index_of(key.second)].append(now);
    shown = std::move(now);
  }
}

void ConsoleView::add_plain(std::string& held, std::string_view bytes, std::string& out) const {
  std::size_t whole = bytes.size();
  while (whole > 0 && bytes[whole - 1] != '\n' && bytes[whole - 1] != '\r') --whole;
  const std::string_view rest = bytes.substr(whole);
  if (whole > 0 || held.size() + rest.size() > LineSplitter::kMaxLine) {
    out.append(held).append(bytes.substr(0, whole));
    held.clear();
  }
  if (rest.size() > LineSplitter::kMaxLine) {
    out.append(rest);
  } else {
    held.append(rest);
  }
}

}  // namespace dlaunch
