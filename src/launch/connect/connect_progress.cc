#include "launch/connect/connect_progress.h"

namespace dlaunch {

namespace {

// Shorter waits show no line.
constexpr std::chrono::seconds kMoment{1};
// A wider line is hard to read; it is cut to the terminal's width when it is drawn.
constexpr std::size_t kColumns = 76;

std::string and_more(std::size_t hidden) {
  return hidden == 0 ? "" : " and " + std::to_string(hidden) + " more";
}

}  // namespace

std::string connect_progress_text(const ConnectCounts& counts, std::size_t columns) {
  const std::size_t all = counts.connected + counts.failed + counts.waiting.size();
  std::string text = "connected " + std::to_string(counts.connected) + '/' + std::to_string(all);
  if (counts.failed > 0) text += ", " + std::to_string(counts.failed) + " failed";
  if (counts.waiting.empty()) return text;
  text += ", waiting for ";
  std::string names;
  for (std::size_t i = 0; i < counts.waiting.size(); ++i) {
    const std::string one = (i == 0 ? "" : ", ") + counts.waiting[i];
    const std::size_t hidden = counts.waiting.size() - i - 1;
    const bool fits = text.size() + names.size() + one.size() + and_more(hidden).size() <= columns;
    if (!fits && i > 0) return text + names + and_more(counts.waiting.size() - i);
    names += one;
  }
  return text + names;
}

ConnectProgress::ConnectProgress(EventLoop& loop, std::function<void(std::string)> show)
    : show_(std::move(show)), timer_(loop) {}

void ConnectProgress::waits_for(NodeId node, std::string name) {
  if (states_.empty()) {
    timer_.after(kMoment, [this] {
      shown_ = true;
      draw();
    });
  }
  if (states_.size() <= node.value) {
    states_.resize(node.value + 1, State::none);
    names_.resize(node.value + 1);
  }
  states_[node.value] = State::waiting;
  names_[node.value] = std::move(name);
}

void ConnectProgress::settle(NodeId node, State state) {
  if (node.value >= states_.size() || states_[node.value] != State::waiting) return;
  states_[node.value] = state;
  draw();
}

void ConnectProgress::draw() {
  if (!shown_ || held_ || ended_) return;
  ConnectCounts counts;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i] == State::connected) ++counts.connected;
    if (states_[i] == State::failed) ++counts.failed;
    if (states_[i] == State::waiting) counts.waiting.push_back(names_[i]);
  }
  show_("dlaunch: " + connect_progress_text(counts, kColumns));
}

void ConnectProgress::end() {
  if (ended_) return;
  ended_ = true;
  timer_.cancel();
  if (shown_) show_("");
}

void ConnectProgress::hold(bool on) {
  held_ = on;
  if (!shown_ || ended_) return;
  on ? show_("") : draw();
}

}  // namespace dlaunch
