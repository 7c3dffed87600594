// How a verdict (verdict.h) says where ranks stand. Safe for a terminal. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/stack_tree.h"
#include "report/standing.h"

namespace dlaunch {

/// Ranks or workers that are in the same place and state, ascending by rank; at least one.
using StandingGroup = std::vector<const Standing*>;

/// With Length::line, paths are complete.
enum class Length { headline, line };

/// The ranks of the group, each once.
[[nodiscard]] std::vector<RankOnHost> members_of(const StandingGroup& group);

/// "3 ranks", "3 workers", or "3 processes" if the group has both. `more`: an
/// adjective and a blank before the noun.
[[nodiscard]] std::string counted_as(const StandingGroup& group, std::size_t count,
                                     std::string_view more = "");

/// "worker pid 4711 of ", "8 workers of ", "9 processes of "; empty: the ranks themselves.
[[nodiscard]] std::string workers_in(const StandingGroup& group);

/// "rank 37 on gpu05"
[[nodiscard]] std::string subject_of(const StandingGroup& group);

/// "all_reduce (train.py:41)"; empty: unknown.
[[nodiscard]] std::string place_of(const Standing& one, Length length);

/// What the rank does: a phrase that begins with a verb in the singular.
[[nodiscard]] std::string state_in_words(const Standing& one, Length length);

/// What the group does, in the plural if it has several members.
[[nodiscard]] std::string state_in_words(const StandingGroup& group, Length length);

/// "rank 37 on gpu05 is in load (data.py:88)"
[[nodiscard]] std::string clause_of(const StandingGroup& group);

/// `word` and the text; empty if the text is.
[[nodiscard]] std::string after_word(std::string_view word, const std::string& text);

/// Rounded to seconds if it is 2 s or more.
[[nodiscard]] std::string time_text_of(std::chrono::milliseconds time);

}  // namespace dlaunch
