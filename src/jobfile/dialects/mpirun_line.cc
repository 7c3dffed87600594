// mpirun lines: options and program. Rules: mpirun(1) of Open MPI 4, mpiexec of Hydra (`mpiexec
// -help`), horovodrun.
#include <algorithm>
#include <string_view>

#include "jobfile/dialects/kubeflow.h"
#include "jobfile/launch_lines/launcher_options.h"
#include "jobfile/scalar.h"
#include "text/strings.h"

namespace dlaunch::jobfile::kubeflow {

namespace {

/// N of "ppr:N:node", processes per resource; nullopt: another mapping, or another resource.
std::optional<std::int64_t> per_node_of(std::string_view mapping) {
  if (!mapping.starts_with("ppr:")) return std::nullopt;
  mapping.remove_prefix(4);
  const auto colon = mapping.find(':');
  if (colon == std::string_view::npos || mapping.substr(colon) != ":node") return std::nullopt;
  const auto number = parse_integer(mapping.substr(0, colon));
  return number && *number > 0 ? number : std::nullopt;
}

class LineReader {
 public:
  LineReader(Translation& translation, const std::vector<LocatedText>& words, SourceRange range)
      : t_(translation), words_(words), range_(range) {}

  std::optional<MpirunLine> read() {
    if (words_.empty()) return std::nullopt;
    const std::string_view program = file_name(words_.front().text);
    line_.is_horovod = program == "horovodrun";
    line_.is_hydra = program == "mpiexec.hydra";
    if (!starts_ranks(words_.front().text)) {
      t_.diagnostics.error(words_.front().range,
                           "the launcher's command must start with mpirun, mpiexec or horovodrun, "
                           "not " +
                               in_quotes(words_.front().text) + kOrAsItIs);
      return std::nullopt;
    }
    std::size_t at = 1;
    while (at < words_.size() && words_[at].text.starts_with('-')) {
      if (!read_option(at)) return std::nullopt;
    }
    for (; at < words_.size(); ++at) {
      if (words_[at].text == ":") {
        refuse(words_[at].range,
               std::string("several programs in one mpirun line (:) are not supported; start one") +
                   kOrAsItIs);
        return std::nullopt;
      }
      line_.program.push_back(words_[at]);
    }
    if (!line_.program.empty()) return line_;
    refuse(range_, "there is no program after the options of mpirun");
    return std::nullopt;
  }

 private:
  void refuse(SourceRange range, std::string why) { t_.diagnostics.error(range, std::move(why)); }

  bool read_option(std::size_t& at) {
    const LocatedText word = words_[at++];
    std::string name = word.text.substr(word.text.find_first_not_of('-') == std::string::npos
                                            ? word.text.size()
                                            : word.text.find_first_not_of('-'));
    std::vector<LocatedText> values;
    if (const auto equals = name.find('='); equals != std::string::npos && word.text[1] == '-') {
      values.push_back({name.substr(equals + 1), word.range});
      name.resize(equals);
    }
    const LauncherOption* option = find_launcher_option(name, launcher::kMpi);
    if (option == nullptr) {
      refuse(word.range, "the option " + in_quotes(word.text) +
                             " of the launcher's command is not known; remove it, or write a "
                             "native job file (without the option, dlaunch convert makes a draft)");
      return false;
    }
    while (values.size() < static_cast<std::size_t>(option->values)) {
      // Hydra also accepts "-genv NAME=VALUE" as one word.
      const bool is_whole = option->becomes == Becomes::pair && values.size() == 1 &&
                            values.front().text.find('=') != std::string::npos;
      if (is_whole) break;
      if (at >= words_.size()) {
        refuse(word.range, "the option " + in_quotes(word.text) + " has no value");
        return false;
      }
      values.push_back(words_[at++]);
    }
    return apply(*option, word, values);
  }

  bool apply(const LauncherOption& option, const LocatedText& word,
             const std::vector<LocatedText>& values) {
    switch (option.becomes) {
      case Becomes::nothing:
      case Becomes::shows:
        return true;
      case Becomes::oversubscribe:
        line_.oversubscribe = true;
        return true;
      case Becomes::one_per_node:
        line_.per_node = LocatedNumber{1, word.range};
        return true;
      case Becomes::map_by:
        map_by(values.front().text, word);
        return true;
      case Becomes::by_node:
        map_by("node", word);
        return true;
      case Becomes::total:
        return read_count(word, values.front(), line_.processes);
      case Becomes::per_node:
        return read_count(word, values.front(), line_.per_node);
      case Becomes::pass:
        pass(values.front().text, values.front().range);
        return true;
      case Becomes::pass_list:
        line_.names_passed = true;
        pass_all(values.front().text, values.front().range);
        return true;
      case Becomes::pair:
        if (values.size() == 1) {
          pass(values.front().text, values.front().range);
        } else {
          line_.env.push_back({values[0].text, values[1].text, values[0].range});
        }
        return true;
      case Becomes::mca:
        if (!places_processes(values[0].text))
          line_.env.push_back({"OMPI_MCA_" + values[0].text, values[1].text, values[0].range});
        return true;
      default:  // the option places or connects processes
        line_.ignored.push_back(word.text);
        return true;
    }
  }

  bool read_count(const LocatedText& word, const LocatedText& value,
                  std::optional<LocatedNumber>& to) {
    const auto number = parse_integer(value.text);
    if (!number || *number < 1 || *number > kMostCounted) {
      refuse(value.range, word.text + " needs a number from 1 to " + std::to_string(kMostCounted) +
                              ", not " + in_quotes(value.text));
      return false;
    }
    to = LocatedNumber{*number, value.range};
    return true;
  }

  void map_by(std::string_view mapping, const LocatedText& word) {
    if (const auto per_node = per_node_of(mapping)) {
      line_.per_node = LocatedNumber{*per_node, word.range};
      return;
    }
    line_.is_by_node = mapping == "node" || mapping.starts_with("node:");
    line_.ignored.push_back(word.text);
  }

  /// Handles "-x NAME" and "-x NAME=VALUE".
  void pass(const std::string& text, SourceRange range) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) {
      line_.passed.push_back({text, range});
    } else {
      line_.env.push_back({text.substr(0, equals), text.substr(equals + 1), range});
    }
  }

  void pass_all(std::string_view list, SourceRange range) {
    while (!list.empty()) {
      const auto comma = std::min(list.find(','), list.size());
      if (comma > 0) pass(std::string(list.substr(0, comma)), range);
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }

  Translation& t_;
  const std::vector<LocatedText>& words_;
  SourceRange range_;
  MpirunLine line_;
};

}  // namespace

bool starts_ranks(std::string_view word) {
  const std::string_view program = file_name(word);
  return program == "mpirun" || program == "mpiexec" || program == "mpiexec.hydra" ||
         program == "horovodrun";
}

std::optional<MpirunLine> read_mpirun_line(Translation& translation,
                                           const std::vector<LocatedText>& words,
                                           SourceRange range) {
  return LineReader(translation, words, range).read();
}

}  // namespace dlaunch::jobfile::kubeflow
