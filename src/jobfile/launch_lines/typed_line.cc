#include "jobfile/launch_lines/typed_line.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kForQueue = "is for Slurm's queue; dlaunch submit sends jobs there";

/// The row for dlaunch's own options for counts, which must agree with those of other launchers.
const LauncherOption* own_count(const std::string& word) {
  const std::string name = option_name(word);
  for (const std::string_view known : {"n", "np", "nproc-per-node", "nnodes"}) {
    if (name == known) return find_launcher_option(name, launcher::kAll);
  }
  return name == "processes" ? find_launcher_option("np", launcher::kAll) : nullptr;
}

/// The launchers that the value of an ambiguous option points to: a path is a hostfile, a variable
/// has a value or is written in capitals, and srun's -m has a few words.
Launchers meant_by_value(const std::string& name, const std::string& value) {
  if (name == "m") {
    constexpr std::array<std::string_view, 5> kOrders{"*", "block", "cyclic", "arbitrary", "plane"};
    const bool is_order =
        contains(kOrders, std::string_view(value).substr(0, value.find_first_of(":,=")));
    return is_order ? launcher::kSrun : launcher::kTorchrun | launcher::kAccelerate;
  }
  if (name == "mpi") {
    const bool is_interface = value.starts_with("pmi") || value == "none" || value == "openmpi";
    return is_interface ? launcher::kSrun : launcher::kHorovod;
  }
  if (name == "H" && value.find('/') != std::string::npos) return launcher::kDeepspeed;
  if (name == "H") return launcher::kMpi;
  const bool has_small_letter =
      std::any_of(value.begin(), value.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  const bool is_variable = value.find('=') != std::string::npos || !has_small_letter;
  return name == "x" && is_variable ? launcher::kOpenMpi : launcher::kAll;
}

/// The smallest and the largest number of words that an option of that name takes, over these
/// launchers.
std::pair<int, int> values_of(std::string_view name, Launchers launchers) {
  std::pair<int, int> range{2, 0};
  for (const LauncherOption& one : launcher_options()) {
    if (one.name != name || (one.launchers & launchers) == 0) continue;
    range = {std::min(range.first, one.values), std::max(range.second, one.values)};
  }
  return range;
}

/// Splits "-N2" into "-N" and "2". "-K0" becomes "-K=0", because "-K" takes no further word.
Words split_numbers(const Words& words, const OwnCommand& command) {
  Words split;
  for (const std::string& word : words) {
    const bool has_number = word.size() > 2 && word[0] == '-' && is_letter(word[1]) &&
                            word.find_first_not_of("0123456789", 2) == std::string::npos;
    const std::string name = has_number ? word.substr(1, 1) : "";
    const bool is_flag = launchers_with(name) != 0 && values_of(name, launcher::kAll).second == 0;
    if (has_number && command.values(word) < 0 && is_flag) {
      split.push_back(word.substr(0, 2) + '=' + word.substr(2));
    } else if (has_number && (command.values(word) < 0 || name == "n")) {
      split.insert(split.end(), {word.substr(0, 2), word.substr(2)});
    } else {
      split.push_back(word);
    }
  }
  return split;
}

class TypedLineReader {
 public:
  TypedLineReader(const Words& words, const OwnCommand& command, Launchers launchers)
      : words_(split_numbers(words, command)), command_(command), launchers_(narrowed(launchers)) {}

  TypedLine read() {
    std::size_t at = 0;
    while (at < words_.size() && !is_wrong() && !own_.is_module) {
      if (!read_word(at)) break;
    }
    if (own_.is_module && at == words_.size()) line_.without_value = words_[at - 1];
    if (!is_wrong()) finish(at);
    return line_;
  }

 private:
  [[nodiscard]] bool is_wrong() const {
    return !line_.unclear.empty() || !line_.without_value.empty();
  }

  /// The launchers that have all options of the line. The options of dlaunch and of the program do
  /// not count, nor does an option that would leave no launcher.
  [[nodiscard]] Launchers narrowed(Launchers launchers) const {
    for (std::size_t at = 0; at < words_.size();) {
      const std::string& word = words_[at++];
      if (!word.starts_with('-') || word == "-") {
        if (!command_.is_job(word)) break;
        continue;
      }
      int values = command_.values(word);
      if (values < 0) {
        const std::string name = option_name(word);
        const Launchers with = launchers_with(name);
        if ((launchers & with) != 0) launchers &= with;
        values = word.find('=') == std::string::npos ? values_of(name, with).second : 0;
      }
      for (; values > 0 && at < words_.size() && could_be_value(words_[at]); --values) ++at;
    }
    return launchers;
  }

  /// False: the word begins a program.
  bool read_word(std::size_t& at) {
    const std::string& word = words_[at];
    if (!word.starts_with('-') || word == "-") {
      if (!command_.is_job(word)) return false;
      has_job_ = true;
      kept_.push_back(word);
      ++at;
      return true;
    }
    const int own_values = command_.values(word);
    const bool is_whole = own_values > 0 || word.find('=') != std::string::npos;  // not "-n4"
    if (const LauncherOption* count = own_values >= 0 && is_whole ? own_count(word) : nullptr) {
      take(*count, at);
    } else if (own_values >= 0) {
      keep(own_values, at);
    } else {
      read_foreign(at);
    }
    return true;
  }

  /// Keeps an option of dlaunch with its values.
  void keep(int values, std::size_t& at) {
    const std::string& word = words_[at];
    kept_.push_back(words_[at++]);
    for (int i = 0; i < values; ++i) {
      if (at == words_.size() || words_[at].empty() || !could_be_value(words_[at])) {
        line_.without_value = word;
        return;
      }
      kept_.push_back(words_[at++]);
    }
  }

  void read_foreign(std::size_t& at) {
    const std::string& word = words_[at];
    const std::string name = option_name(word);
    const Launchers with = launchers_with(name);
    if (with == 0) {
      kept_.push_back(word);  // an option that dlaunch does not know either
      ++at;
      return;
    }
    const Launchers possible = (launchers_ & with) == 0 ? with : launchers_ & with;
    const LauncherOption* option = nullptr;
    for (const Launchers some : {command_.is_submit ? launcher::kSbatch : 0, possible,
                                 possible & meant_by_value(name, value_behind(at))})
      if (option == nullptr) option = find_launcher_option(name, some);
    if (option == nullptr) option = only_meaning(name, possible);
    if (option != nullptr) return take(*option, at);
    if (value_behind(at).empty() && values_of(name, possible).first > 0) {
      line_.without_value = word;
      return;
    }
    line_.unclear = word;
    for (const LauncherOption& one : launcher_options())
      if (one.name == name && (one.launchers & possible) != 0)
        line_.meanings.push_back(one.launchers);
  }

  /// The option's value, from its own word or the next one; empty: none.
  [[nodiscard]] std::string value_behind(std::size_t at) const {
    const auto equals = words_[at].find('=');
    if (equals != std::string::npos) return words_[at].substr(equals + 1);
    return at + 1 < words_.size() && could_be_value(words_[at + 1]) ? words_[at + 1] : "";
  }

  /// The option's only meaning for these launchers; rows with the same meaning count as one.
  static const LauncherOption* only_meaning(const std::string& name, Launchers launchers) {
    const LauncherOption* found = nullptr;
    for (const LauncherOption& one : launcher_options()) {
      if (one.name != name || (one.launchers & launchers) == 0) continue;
      if (found != nullptr && (found->becomes != one.becomes || found->text != one.text))
        return nullptr;
      found = &one;
    }
    return found;
  }

  void take(const LauncherOption& option, std::size_t& at) {
    const std::string& word = words_[at++];
    std::string typed = word;
    if (option.values == 0 && word.size() > 3 && word[2] == '=') typed.erase(2, 1);  // "-K0"
    Words values;
    const auto equals = word.find('=');
    if (equals != std::string::npos) values.push_back(word.substr(equals + 1));
    const bool is_whole_pair = option.becomes == Becomes::pair && at < words_.size() &&
                               words_[at].find('=') != std::string::npos;
    const auto wanted = static_cast<std::size_t>(is_whole_pair ? 1 : option.values);
    while (values.size() < wanted && at < words_.size() && could_be_value(words_[at])) {
      typed += ' ' + words_[at];
      values.push_back(words_[at++]);
    }
    if (values.size() < wanted || contains(values, "")) {
      line_.without_value = word.substr(0, equals);
      return;
    }
    own_.add(option, typed, values);
    if (option.becomes == Becomes::queue && !command_.is_submit)
      own_.left_out.push_back({typed, std::string(kForQueue)});
    if (option.becomes == Becomes::image)
      own_.left_out.push_back({typed, "in dlaunch this is --set container.image=IMAGE"});
  }

  void finish(std::size_t at) {
    own_.settle();
    const bool has_file = has_job_ || !command_.has_command;
    if (!own_.passed.empty() && has_file && at == words_.size())
      own_.left_out.push_back(
          {"-x " + own_.passed.front(), "env_pass replaces the job file's list"});
    line_.words = own_.words();
    line_.words.insert(line_.words.end(), kept_.begin(), kept_.end());
    // Arguments of the program in the job file that dlaunch finds by itself.
    if (!own_.arguments.empty() && !command_.has_command && at == words_.size() &&
        own_.file.empty())
      own_.file = "job.yaml";
    if (!own_.file.empty() && !has_job_) line_.words.push_back(own_.file);
    line_.arguments = own_.arguments;
    line_.program.assign(words_.begin() + static_cast<std::ptrdiff_t>(at), words_.end());
    line_.is_module = own_.is_module;
    if (own_.is_module) {
      line_.program.insert(line_.program.begin(), {"python3", "-m"});
      own_.left_out.push_back({words_[at - 1], "the program goes after --"});
    }
    line_.left_out = own_.left_out;
    line_.for_submit = own_.submit.size();
  }

  const Words words_;
  const OwnCommand& command_;
  Launchers launchers_;
  OwnOptions own_;
  Words kept_;
  TypedLine line_;
  bool has_job_ = false;
};

}  // namespace

bool has_foreign_option(const Words& typed, const OwnCommand& command) {
  const Words words = split_numbers(typed, command);
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (!word.starts_with('-') || word == "-") {
      if (!command.is_job(word)) return false;
      continue;
    }
    const int values = command.values(word);
    if (values < 0 && launchers_with(option_name(word)) != 0) return true;
    at += static_cast<std::size_t>(std::max(values, 0));
  }
  return false;
}

TypedLine in_own_words(const Words& words, const OwnCommand& command, Launchers launchers) {
  return TypedLineReader(words, command, launchers).read();
}

}  // namespace dlaunch::jobfile
