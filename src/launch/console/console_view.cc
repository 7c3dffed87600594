#include "launch/console/console_view.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "model/rank_list.h"
#include "text/utf8.h"

namespace dlaunch {

namespace {

// ISO 6429 foreground colours that are readable on dark and light backgrounds; red is reserved for
// errors.
constexpr std::array<std::string_view, 5> kColours = {"36", "32", "35", "33", "34"};
constexpr std::string_view kSeveral = "1";  // bold, for lines of several ranks
// Columns for the ranks in a merged line's prefix; if they need more, "and 50 more" ends the list.
constexpr std::size_t kRanksWidth = 24;

std::size_t index_of(Stream stream) {
  return stream == Stream::out ? 0 : 1;
}

/// The prefix also resets attributes that the line before it left on.
std::string coloured(std::string_view text, std::string_view colour) {
  std::string out;
  if (!colour.empty()) out.append("\x1b[0;").append(colour).append("m");
  out.append(text);
  if (!colour.empty()) out.append("\x1b[0m");
  return out;
}

}  // namespace

ConsoleView::ConsoleView(ConsoleOptions options, std::vector<std::string> labels)
    : options_(options) {
  std::vector<bool> shown;
  shown.reserve(labels.size());
  for (const std::string& label : labels) shown.push_back(!label.empty());
  if (!options_.prefix && !options_.merged) {
    if (std::count(shown.begin(), shown.end(), true) > 1) held_.resize(labels.size());
    return;
  }
  if (options_.merged) merger_.emplace(shown, options_.fold_numbers);
  splitters_.resize(labels.size());
  prefixes_.reserve(labels.size());
  std::size_t width = 0;
  for (const std::string& label : labels) width = std::max(width, utf8_length(label));
  for (std::string& label : labels) {
    const std::size_t rank = prefixes_.size();
    const std::string_view colour =
        options_.colour ? kColours[rank % kColours.size()] : std::string_view{};
    if (options_.merged) {
      prefixes_.push_back(merged_prefix(std::to_string(rank), colour));
      continue;
    }
    label.append(width - utf8_length(label), ' ');
    prefixes_.push_back(
        {coloured(label + " |", colour) + ' ', coloured(label + " +", colour) + ' ', width + 3});
  }
}

ConsoleView::Prefix ConsoleView::merged_prefix(const std::string& ranks,
                                               std::string_view colour) const {
  if (!options_.prefix) return {};
  const std::string text = '[' + ranks + ']';
  return {coloured(text, colour) + ' ', coloured(text + '+', colour) + ' ', text.size() + 1};
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
  if (splitters_.empty()) {
    if (held_.empty()) {
      out.append(bytes);
      last_ = bytes.back();
    } else {
      assert(rank.value < held_.size());
      add_plain(held_[rank.value][index_of(stream)], bytes, out);
    }
    return;
  }
  expected_ = bytes.size() + bytes.size() / 4;
  splitter(rank, stream).add(bytes, [&](std::string_view text, bool continues) {
    add_line({rank, stream}, text, continues, out);
  });
  watch_bars(rank, stream);
  if (prompts_of_ == rank && has_prompt()) show_waiting();  // the lines above it
}

void ConsoleView::finish(Rank rank, Stream stream, std::string& out) {
  end_line(rank, stream, out);
  if (!merger_) return;
  merger_->end(rank, stream);
  take_ready();
}

void ConsoleView::end_line(Rank rank, Stream stream, std::string& out) {
  if (splitters_.empty()) {
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
  put_line(key, text, continues, out);
}

void ConsoleView::put_line(Key key, std::string_view text, bool continues, std::string& out) {
  if (merger_) {
    merger_->add(key.first, key.second, text, continues, now_);
    return take_ready();
  }
  const Prefix& prefix = prefixes_[key.first.value];
  out.append(continues ? prefix.continued : prefix.first).append(text).append(1, '\n');
}

void ConsoleView::show_prompts_of(Rank rank) {
  if (!splitters_.empty()) prompts_of_ = rank;
}

/// The part of the prompt's line to show: all of it, or the part after an answer.
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
  if (!splitters_.empty()) return splitter(rank, stream).drop_held();
  if (held_.empty()) return 0;
  return std::exchange(held_[rank.value][index_of(stream)], {}).size();
}

void ConsoleView::add_note(Rank rank, Stream stream, std::string_view note, std::string& out) {
  const std::size_t before = out.size();
  end_line(rank, stream, out);
  if (merger_) return put_line({rank, stream}, note, false, out);
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
    lines.settle([&, key = at->first](std::string_view text, bool continues) {
      put_line(key, text, continues, out[index_of(key.second)]);
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
    const BarRows& rows = *splitter(key.first, key.second).bars();
    std::string now;
    rows.each([&](std::string_view text) { now.append(text).append(1, '\n'); });
    if (now != shown) {
      rows.each([&, key = key](std::string_view text) {
        put_line(key, text, false, out[index_of(key.second)]);
      });
    }
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

const ConsoleView::Prefix& ConsoleView::prefix_of(const LineMerger::Line& line) {
  const LineMerger::Words words = line.ranks;
  const auto each = [&](const auto& take) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (std::uint64_t rest = words[i]; rest != 0; rest &= rest - 1)
        take(static_cast<std::uint32_t>(64 * i) +
             static_cast<std::uint32_t>(std::countr_zero(rest)));
    }
  };
  if (line.count == 1) {
    std::uint32_t only = 0;
    each([&](std::uint32_t rank) { only = rank; });
    return prefixes_[only];
  }
  if (std::equal(words.begin(), words.end(), several_.begin(), several_.end()))
    return several_prefix_;
  std::vector<std::uint32_t> ranks;
  each([&](std::uint32_t rank) { ranks.push_back(rank); });
  several_.assign(words.begin(), words.end());
  several_prefix_ = merged_prefix(compact_ranges(ranks, kRanksWidth),
                                  options_.colour ? kSeveral : std::string_view{});
  return several_prefix_;
}

void ConsoleView::take_ready() {
  while (const auto line = merger_->next(now_)) {
    if (pieces_.empty() || pieces_.back().stream != line->stream) {
      pieces_.push_back({line->stream, {}});
      pieces_.back().text.reserve(expected_);
    }
    const Prefix& prefix = prefix_of(*line);
    pieces_.back()
        .text.append(line->continues ? prefix.continued : prefix.first)
        .append(line->text)
        .append(1, '\n');
  }
}

std::vector<ConsoleView::Piece> ConsoleView::take_merged() {
  if (merger_) take_ready();
  return std::exchange(pieces_, {});
}

void ConsoleView::show_waiting() {
  if (merger_) merger_->show_all();
}

std::optional<MonotonicTime> ConsoleView::merged_due() const {
  return merger_ ? merger_->due() : std::nullopt;
}

std::size_t ConsoleView::recently_merged(Rank rank, Stream stream, std::size_t window,
                                         bool of_both) const {
  return merger_ ? merger_->recent(rank, stream, window, of_both) : 0;
}

}  // namespace dlaunch
