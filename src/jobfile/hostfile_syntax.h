// Splits the text of a hostfile into lines without comments, and adds up the slots that the lines
// give each host; hostfile.cc interprets them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jobfile/diagnostics.h"
#include "jobfile/hostfile.h"
#include "jobfile/source.h"
#include "model/job_spec.h"

namespace dlaunch::jobfile {

/// A word of a line. Refers to the text.
struct HostfileWord {
  std::string_view text;
  SourceRange range;
};

/// "slots=4", also with blanks around '='.
struct HostfileSetting {
  HostfileWord key;
  HostfileWord value;  // empty: '=' without a value
};

struct HostfileLine {
  HostfileWord host;
  std::vector<HostfileSetting> settings;
  std::vector<HostfileWord> words;   // after the host, not part of a setting
  bool begins_with_setting = false;  // "slots=4": the host is missing, or has this name
};

/// The lines that are not empty. An unclosed "/*" is an error.
[[nodiscard]] std::vector<HostfileLine> hostfile_lines(std::string_view text,
                                                       Diagnostics& diagnostics);

/// Keywords of Open MPI's lexer (src/util/hostfile of PRRTE, hostfile_lex.l): three for the number
/// of slots, twelve spellings of its limit.
inline constexpr std::array<std::string_view, 3> kSlots{"slots", "cpu", "count"};
inline constexpr std::array<std::string_view, 12> kMaxSlots{
    "max_slots", "max-slots", "slots_max", "slots-max", "max_cpu",   "max-cpu",
    "cpu_max",   "cpu-max",   "max_count", "max-count", "count_max", "count-max"};
inline constexpr std::array<std::string_view, 3> kUser{"username", "user_name", "user-name"};
/// Words that cannot be a host name in that format.
inline constexpr std::array<std::string_view, 6> kKeywords{"slots", "slot", "cpu",
                                                           "count", "port", "rank"};

/// The format of a line; HostfileForm::names if the line fits all formats.
[[nodiscard]] HostfileForm form_of(const HostfileLine& line);

/// "host:4, the form of MPICH"
[[nodiscard]] const char* described(HostfileForm form);

[[nodiscard]] bool is_digits(std::string_view text);

inline constexpr std::int64_t kMostSlots = 100'000;  // per host, as in the field table

/// The slots that the lines of a host list give each host; hosts keep the order of their first
/// appearance.
class SlotsByHost {
 public:
  struct Count {
    HostSpec host;            // slots is 0 until finish()
    std::int64_t slots = 0;   // from lines that give a number
    std::int64_t bare = 0;    // number of lines without a number
    bool has_number = false;  // some line gave a number, possibly 0
    std::size_t last_line = 0;
    std::size_t first_line = 0;
  };

  /// The entry of the host of that name, created if necessary. `line` is the first line of a new
  /// entry. The reference is valid until the next call.
  Count& at(const std::string& name, std::size_t line) {
    const auto [found, is_new] = index_.try_emplace(name, counts_.size());
    if (is_new) {
      counts_.emplace_back();
      counts_.back().host.name = name;
      counts_.back().first_line = line;
      counts_.back().last_line = line;
    }
    return counts_[found->second];
  }

  [[nodiscard]] const Count* find(const std::string& name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &counts_[found->second];
  }

  [[nodiscard]] std::vector<Count>& counts() { return counts_; }
  [[nodiscard]] std::size_t size() const { return counts_.size(); }

 private:
  std::vector<Count> counts_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace dlaunch::jobfile
