// What happened in a run and when: the events of events.jsonl as periods and points in time. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/time.h"

namespace dlaunch {

/// All times of a story are seconds since the start of the run.
struct RankPeriod {
  enum class End : std::uint8_t { running, done, failed, stopped, lost };
  std::uint32_t attempt = 0;
  std::uint32_t rank = 0;
  double from = 0;
  double to = 0;
  End end = End::running;
  std::string how;  // "exited with code 1"
  bool operator==(const RankPeriod&) const = default;
};

struct PhaseSpan {
  enum class Kind : std::uint8_t { connect, prepare, start, run, stalled, stop, wait };
  Kind kind = Kind::connect;
  std::uint32_t attempt = 0;
  double from = 0;
  double to = 0;
  bool operator==(const PhaseSpan&) const = default;
};

struct Incident {
  enum class Weight : std::uint8_t { note, warning, failure };
  double at = 0;
  Weight weight = Weight::note;
  std::string kind;  // the name of the event
  std::string text;
  bool operator==(const Incident&) const = default;
};

struct StoryAttempt {
  std::uint32_t number = 0;
  double from = 0;  // when its plan was made
  double to = 0;
  std::vector<std::string> node_of_rank;
  bool operator==(const StoryAttempt&) const = default;
};

struct RunStory {
  WallTime started{};
  double length = 0;  // seconds; more than 0
  std::vector<StoryAttempt> attempts;
  std::vector<PhaseSpan> phases;
  std::vector<RankPeriod> spans;  // by attempt, then rank
  std::vector<Incident> incidents;
};

[[nodiscard]] const char* name_of(RankPeriod::End);
[[nodiscard]] const char* name_of(PhaseSpan::Kind);
[[nodiscard]] const char* name_of(Incident::Weight);

/// `events`: the content of events.jsonl; lines that are not events are skipped. `plan`: plan.json
/// of the last attempt. `samples`: samples.json, which shows when a stall ended. `ended`: the end
/// of the run, or now. `is_lost`: the launcher was killed, and its ranks with it.
[[nodiscard]] RunStory read_story(std::string_view events, const nlohmann::json& plan,
                                  const nlohmann::json& samples, WallTime started, WallTime ended,
                                  bool is_lost);

}  // namespace dlaunch
