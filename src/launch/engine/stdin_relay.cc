#include "launch/engine/stdin_relay.h"

#include <utility>

namespace dlaunch {

void StdinRelay::begin(Attempt attempt) {
  attempt_ = attempt;
  started_ = true;
  sent_ = 0;
  const bool has_end = !waiting_.empty() && waiting_.back().empty();
  if (waiting_.empty()) ask();
  for (std::string& bytes : std::exchange(waiting_, {})) forward(std::move(bytes));
  if (ended_ && !has_end) forward({});
}

void StdinRelay::add(std::string bytes) {
  ended_ = bytes.empty();
  asked_ = ended_;
  if (started_) {
    forward(std::move(bytes));
  } else {
    waiting_.push_back(std::move(bytes));
  }
}

void StdinRelay::taken(const wire::StdinTaken& taken) {
  if (!started_ || taken.attempt != attempt_ || taken.closed || taken.up_to < sent_) return;
  ask();
}

bool StdinRelay::interrupt() {
  constexpr char kCtrlC = '\x03';
  if (!started_) return false;
  forward(std::string(1, kCtrlC));
  return true;
}

void StdinRelay::ask() {
  if (std::exchange(asked_, true)) return;
  callbacks_.ask_front();
}

void StdinRelay::forward(std::string bytes) {
  sent_ += bytes.size();
  callbacks_.send({attempt_, std::move(bytes)});
}

}  // namespace dlaunch
