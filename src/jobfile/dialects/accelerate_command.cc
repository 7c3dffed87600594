// The command: a config file of accelerate does not contain it.
#include <algorithm>
#include <utility>

#include "jobfile/dialects/accelerate.h"
#include "jobfile/dialects/shell_words.h"
#include "jobfile/shell_quote.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/expectation.h"
#include "jobfile/shell_quote.h"

namespace dlaunch::jobfile::accelerate {

namespace {

/// "--no-python" becomes "--no_python": accelerate accepts both spellings.
std::string option_name(const std::string& word) {
  std::string name = word.substr(0, word.find('='));
  const auto first = std::min(name.find_first_not_of('-'), name.size());
  std::replace(name.begin() + static_cast<std::ptrdiff_t>(first), name.end(), '-', '_');
  return name;
}

std::string_view base_name(std::string_view word) {
  const auto slash = word.rfind('/');
  return slash == std::string_view::npos ? word : word.substr(slash + 1);
}

class CommandReader {
 public:
  CommandReader(Translation& translation, const std::string& type, Place at)
      : t_(translation), words_(translation.input.arguments), type_(type), at_(at) {}

  void read() {
    // This is then the complete command; the words after "--" follow it as for any file.
    if (t_.is_set("command")) return;
    t_.took_arguments = true;
    if (words_.empty()) {
      t_.diagnostics.error(
          Place::whole(0),
          "this file says how to start a program, but not which one; give it after --, "
          "for example: -- python train.py");
      return;
    }
    skip_launcher();
    while (next_ < words_.size() && words_[next_].starts_with('-')) {
      if (!read_option()) return;
    }
    if (next_ == words_.size()) return refuse("there is no program after the options");
    if (is_module_ && no_python_)
      return refuse("-m is for a Python module, and --no_python for other programs");
    refuse_launchers();
    set_command();
  }

 private:
  void refuse(std::string why) {
    t_.sources.push_back({"-- " + shell_line(words_), "", true});
    t_.diagnostics.error(Place::whole(static_cast<std::uint32_t>(t_.sources.size() - 1)),
                         std::move(why));
  }

  /// Skips "accelerate launch", by any of its names: it would start all processes again in each
  /// process.
  void skip_launcher() {
    const auto word = [&](std::size_t i) {
      return i < words_.size() ? base_name(words_[i]) : std::string_view();
    };
    if (word(0) == "accelerate-launch") next_ = 1;
    if (word(0) == "accelerate" && word(1) == "launch") next_ = 2;
    if (word(0).starts_with("python") && word(1) == "-m" && word(2) == "accelerate.commands.launch")
      next_ = 3;
    had_launcher_ = next_ > 0;
    if (had_launcher_)
      t_.notes.emplace_back(
          "accelerate launch is left out of the command: dlaunch starts the processes itself");
  }

  bool read_option() {
    const std::string name = option_name(words_[next_]);
    const bool has_value = words_[next_].find('=') != std::string::npos;
    ++next_;
    if (name == "-m" || name == "--module") return is_module_ = true;
    if (name == "--no_python") return no_python_ = true;
    // The file that is being read.
    if (had_launcher_ && name == "--config_file") {
      if (!has_value && next_ < words_.size()) ++next_;
      return true;
    }
    refuse(in_quotes(name) +
           " is an option of accelerate launch; use the keys of the file, -n and --nnodes; after "
           "-- give the program, or -m MODULE");
    return false;
  }

  /// Reports torchrun and similar launchers in each of several processes.
  void refuse_launchers() {
    const std::vector<std::string> program(words_.begin() + static_cast<std::ptrdiff_t>(next_),
                                           words_.end());
    const std::string line = (is_module_ ? "python3 -m " : "") + shell_line(program);
    const auto launcher = started_launcher(line);
    if (type_ != "NO" && launcher)
      refuse(launcher->name +
             " starts its own workers, and would do so in each process of the file; write only "
             "the program behind it");
  }

  /// Python runs a script, as in accelerate.
  void set_command() {
    std::vector<PlacedText> words;
    const bool is_script = words_[next_].ends_with(".py") && !no_python_;
    if (is_script || is_module_) words.push_back({"python3", at_});
    if (is_module_) words.push_back({"-m", at_});
    for (; next_ < words_.size(); ++next_) words.push_back({words_[next_], at_});
    t_.job.texts({"command"}, words, at_);
  }

  Translation& t_;
  const std::vector<std::string>& words_;
  const std::string& type_;
  Place at_;
  std::size_t next_ = 0;
  bool had_launcher_ = false;
  bool is_module_ = false;
  bool no_python_ = false;
};

}  // namespace

void read_command(Translation& translation, const std::string& type, Place at) {
  CommandReader(translation, type, at).read();
}

}  // namespace dlaunch::jobfile::accelerate
