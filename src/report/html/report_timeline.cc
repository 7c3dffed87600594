#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "report/html/markup.h"
#include "report/html/report_parts.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// Pixels.
constexpr double kTicks = 22;  // height of the row with the times
constexpr double kPhases = 18;
constexpr double kMarks = 18;  // incidents
constexpr double kAbove = kTicks + kPhases + kMarks;
constexpr double kMostHigh = 900;  // all ranks
constexpr double kMostRow = 18;
constexpr double kTextRow = 13;  // a line of text

constexpr std::size_t kMostBars = 12'000;
constexpr std::size_t kMostMarks = 500;

std::string number(double value) {
  return short_number(value, 2);
}

double row_height(std::size_t ranks) {
  return std::min(kMostRow, kMostHigh / static_cast<double>(std::max<std::size_t>(ranks, 1)));
}

std::string ranks_text(std::uint32_t first, std::uint32_t last) {
  return first == last ? "rank " + std::to_string(first)
                       : "ranks " + std::to_string(first) + '-' + std::to_string(last);
}

/// Neighbouring ranks that began and ended at the same time, and ended in the same way.
struct Bar {
  RankPeriod span;  // of the first rank
  std::uint32_t last = 0;
};

std::vector<Bar> bars_of(const RunStory& story, double tolerance) {
  std::vector<Bar> bars;
  const auto is_near = [&](double a, double b) { return std::abs(a - b) <= tolerance; };
  for (const RankPeriod& span : story.spans) {
    Bar* const before = bars.empty() ? nullptr : &bars.back();
    const bool is_alike = before != nullptr && before->span.attempt == span.attempt &&
                          before->last + 1 == span.rank && before->span.end == span.end &&
                          before->span.how == span.how && is_near(before->span.from, span.from) &&
                          is_near(before->span.to, span.to);
    if (is_alike) {
      before->last = span.rank;
    } else {
      bars.push_back({span, span.rank});
    }
  }
  return bars;
}

std::vector<Bar> few_bars(const RunStory& story) {
  constexpr double kInvisible = 2000;  // fraction of the width that is too narrow to see
  std::vector<Bar> bars;
  for (double parts = kInvisible; parts > 1; parts /= 2) {
    bars = bars_of(story, story.length / parts);
    if (bars.size() <= kMostBars) break;
  }
  return bars;
}

class Timeline {
 public:
  explicit Timeline(const RunStory& story) : story_(story) {
    for (const StoryAttempt& attempt : story.attempts)
      ranks_ = std::max(ranks_, attempt.node_of_rank.size());
    row_ = row_height(ranks_);
    height_ = kAbove + row_ * static_cast<double>(ranks_) + 2;
  }

  std::string text() {
    put(out_, "<div class=\"chart\" id=\"chart\" data-top=\"", number(kAbove), "\" data-row=\"",
        short_number(row_, 4), "\" data-ranks=\"", std::to_string(ranks_), "\">\n");
    labels();
    put(out_, "<svg class=\"t\" height=\"", number(height_), "\" role=\"img\" aria-label=\"",
        "Phases, incidents and ranks over time\">");
    put(out_, "<svg class=\"z\" width=\"100%\" height=\"", number(height_), "\">\n");
    ticks();
    phases();
    bars();
    attempts();
    marks();
    out_ += "</svg></svg>\n</div>\n";
    legend();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string at(double time) const { return percent(time / story_.length); }

  void rect(std::string_view kind, double from, double to, double y, double high) {
    put(out_, "<rect class=\"", kind, "\" x=\"", at(from), "\" width=\"", at(to - from), "\" y=\"",
        number(y), "\" height=\"", number(high), "\">");
  }

  /// Writes the node of each group of rows and, where there is room, the number of its first rank.
  void labels() {
    put(out_, "<svg class=\"names\" height=\"", number(height_), "\">");
    const auto text = [&](double y, std::string_view place, std::string_view what) {
      put(out_, "<text ", place, " y=\"", number(y), "\">", what, "</text>");
    };
    text(kTicks + 13, "x=\"0\"", "phase");
    if (!story_.incidents.empty()) text(kTicks + kPhases + 12, "x=\"0\"", "incidents");
    if (!story_.attempts.empty()) {
      const auto& nodes = story_.attempts.back().node_of_rank;
      double next = 0;
      for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
        const double y = kAbove + row_ * static_cast<double>(rank);
        const bool is_first = rank == 0 || nodes[rank] != nodes[rank - 1];
        if (y < next || (!is_first && row_ < kTextRow)) continue;
        const double base = y + std::max(row_ / 2, kTextRow / 2) + 4;
        if (is_first) text(base, "x=\"0\"", html(nodes[rank]));
        text(base, "class=\"m\" x=\"100%\"", std::to_string(rank));
        next = y + kTextRow;
      }
    }
    out_ += "</svg>\n";
  }

  void ticks() {
    constexpr std::array<double, 26> kSteps{.001, .002, .005, .01,  .02,  .05,   .1,    .2,   .5,
                                            1,    2,    5,    10,   15,   30,    60,    120,  300,
                                            600,  900,  1800, 3600, 7200, 14400, 43200, 86400};
    constexpr double kMost = 6;
    const auto* step = std::find_if(kSteps.begin(), kSteps.end() - 1,
                                    [&](double one) { return story_.length / one <= kMost; });
    const double wide = std::max(*step, story_.length / (2 * kMost));
    put(out_, "<g class=\"ticks\" data-h=\"", number(height_), "\">");
    for (double time = 0; time < story_.length * 0.97; time += wide) {
      put(out_, "<line x1=\"", at(time), "\" x2=\"", at(time), "\" y1=\"0\" y2=\"", number(height_),
          "\"/><text x=\"", at(time), "\" dx=\"4\" y=\"13\">", tick_text(time), "</text>");
    }
    out_ += "</g>\n";
  }

  /// The same as `tick` in page.js.
  static std::string tick_text(double time) {
    constexpr double kMinute = 60;
    constexpr double kHour = 3600;
    if (time < kMinute) return short_number(time, 3) + " s";
    const double unit = time < kHour ? kMinute : kHour;
    std::string text = short_number(std::floor(time / unit), 0);
    const double rest = std::round((time - unit * std::floor(time / unit)) / unit * kMinute);
    if (rest > 0) put(text, ":", rest < 10 ? "0" : "", short_number(rest, 0));
    return text + (time < kHour ? " min" : " h");
  }

  void phases() {
    for (const PhaseSpan& phase : story_.phases) {
      rect(std::string("ph ") + name_of(phase.kind), phase.from, phase.to, kTicks + 2, kPhases - 5);
      put(out_, "<title>", name_of(phase.kind), ", ", seconds_text(phase.to - phase.from),
          "</title></rect>\n");
    }
  }

  void bars() {
    const double gap = row_ > 4 ? 2 : 0;
    const std::vector<Bar> all = few_bars(story_);
    left_out_bars_ = all.size() - std::min(all.size(), kMostBars);  // bars of the earliest attempts
    for (std::size_t i = left_out_bars_; i < all.size(); ++i) {
      const Bar& bar = all[i];
      const RankPeriod& span = bar.span;
      rect(std::string("b ") + name_of(span.end), span.from, span.to,
           kAbove + row_ * span.rank + gap / 2, row_ * (bar.last - span.rank + 1) - gap);
      put(out_, "<title>", ranks_text(span.rank, bar.last), ", attempt ",
          std::to_string(span.attempt), ": ", seconds_text(span.to - span.from));
      if (!span.how.empty()) put(out_, ", ", html(span.how));
      out_ += "</title></rect>\n";
    }
  }

  void attempts() {
    for (const StoryAttempt& attempt : story_.attempts) {
      if (attempt.number == 0) continue;
      put(out_, "<line class=\"at\" x1=\"", at(attempt.from), "\" x2=\"", at(attempt.from),
          "\" y1=\"", number(kTicks), "\" y2=\"", number(height_), "\"><title>attempt ",
          std::to_string(attempt.number), "</title></line>\n");
    }
  }

  void marks() {
    const std::size_t most = std::min(story_.incidents.size(), kMostMarks);
    left_out_marks_ = story_.incidents.size() - most;
    std::vector<Incident> shown(story_.incidents.end() - static_cast<std::ptrdiff_t>(most),
                                story_.incidents.end());
    // Failures are drawn last, over other incidents.
    std::stable_sort(shown.begin(), shown.end(),
                     [](const Incident& a, const Incident& b) { return a.weight < b.weight; });
    for (const Incident& one : shown) {
      put(out_, "<circle class=\"", name_of(one.weight), "\" cx=\"", at(one.at), "\" cy=\"",
          number(kTicks + kPhases + 7), "\" r=\"4.5\"><title>", html(one.kind), ": ",
          html(one.text), "</title></circle>\n");
    }
  }

  void legend() {
    out_ += "<p class=\"legend\">";
    for (int kind = 0; kind <= static_cast<int>(PhaseSpan::Kind::wait); ++kind)
      swatch("ph", name_of(static_cast<PhaseSpan::Kind>(kind)));
    out_ += "</p>\n<p class=\"legend\">ranks: ";
    for (int end = 0; end <= static_cast<int>(RankPeriod::End::lost); ++end) {
      const auto is_seen = [&](const RankPeriod& one) { return static_cast<int>(one.end) == end; };
      if (std::any_of(story_.spans.begin(), story_.spans.end(), is_seen))
        swatch("b", name_of(static_cast<RankPeriod::End>(end)));
    }
    out_ += "</p>\n";
    if (left_out_bars_ + left_out_marks_ > 0)
      put(out_, "<p class=\"m\">Not drawn: ", counted(left_out_bars_, "bar"), " and ",
          counted(left_out_marks_, "incident"), ", the earliest ones.</p>\n");
  }

  void swatch(std::string_view kind, std::string_view name) {
    put(out_, "<span><svg class=\"sw\"><rect class=\"", kind, " ", name,
        "\" width=\"100%\" height=\"100%\"/></svg>", name, "</span> ");
  }

  const RunStory& story_;
  std::size_t ranks_ = 0;
  double row_ = 0;
  double height_ = 0;
  std::size_t left_out_bars_ = 0;
  std::size_t left_out_marks_ = 0;
  std::string out_;
};

}  // namespace

std::string timeline_part(const RunStory& story) {
  if (story.phases.empty()) return "";
  return "<p class=\"tools\" hidden><button data-z=\"in\">Zoom in</button><button "
         "data-z=\"out\">Zoom out</button><button data-z=\"all\">Whole run</button> <span "
         "class=\"m\">Drag over the chart to look closer; click a rank for its details.</span></p>"
         "\n" +
         Timeline(story).text() + "<p id=\"pick\" aria-live=\"polite\" hidden></p>\n";
}

}  // namespace dlaunch
