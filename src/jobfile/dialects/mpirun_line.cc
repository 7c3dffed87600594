// mpirun lines: options and program. Rules: mpirun(1) of Open MPI 4, mpiexec of Hydra (`mpiexec
// -help`), horovodrun.
#include <algorithm>
#include <array>
#include <string_view>

#include "jobfile/dialects/kubeflow.h"
#include "jobfile/scalar.h"
#include "text/strings.h"

namespace dlaunch::jobfile::kubeflow {

namespace {

enum class Meaning {
  ignored,
  quiet,
  count,
  per_node,
  one_per_node,
  map_by,
  by_node,
  pass,
  pass_list,
  pair,
  mca,
  oversubscribe
};

struct Option {
  std::string_view name;  // without dashes
  int values;
  Meaning meaning;
};

// quiet: does not affect where or how ranks run, so it needs no note.
constexpr Option kOptions[] = {
    {"n", 1, Meaning::count},
    {"np", 1, Meaning::count},
    {"c", 1, Meaning::count},
    {"N", 1, Meaning::per_node},
    {"npernode", 1, Meaning::per_node},
    {"ppn", 1, Meaning::per_node},
    {"perhost", 1, Meaning::per_node},
    {"x", 1, Meaning::pass},
    {"genvlist", 1, Meaning::pass_list},
    {"envlist", 1, Meaning::pass_list},
    {"genv", 2, Meaning::pair},
    {"env", 2, Meaning::pair},
    {"mca", 2, Meaning::mca},
    {"gmca", 2, Meaning::mca},
    {"oversubscribe", 0, Meaning::oversubscribe},
    {"hostfile", 1, Meaning::ignored},
    {"machinefile", 1, Meaning::ignored},
    {"f", 1, Meaning::ignored},
    {"H", 1, Meaning::ignored},
    {"host", 1, Meaning::ignored},
    {"hosts", 1, Meaning::ignored},
    {"bind-to", 1, Meaning::ignored},
    {"map-by", 1, Meaning::map_by},
    {"rank-by", 1, Meaning::ignored},
    {"wdir", 1, Meaning::ignored},
    {"wd", 1, Meaning::ignored},
    {"prefix", 1, Meaning::ignored},
    {"launcher", 1, Meaning::ignored},
    {"iface", 1, Meaning::ignored},
    {"rmk", 1, Meaning::ignored},
    {"p", 1, Meaning::ignored},
    {"ssh-port", 1, Meaning::ignored},
    {"bynode", 0, Meaning::by_node},
    {"byslot", 0, Meaning::ignored},
    {"pernode", 0, Meaning::one_per_node},
    {"nooversubscribe", 0, Meaning::quiet},
    {"genvall", 0, Meaning::quiet},
    {"envall", 0, Meaning::quiet},
    {"allow-run-as-root", 0, Meaning::quiet},
    {"tag-output", 0, Meaning::quiet},
    {"timestamp-output", 0, Meaning::quiet},
    {"report-bindings", 0, Meaning::quiet},
    {"display-map", 0, Meaning::quiet},
    {"display-allocation", 0, Meaning::quiet},
    {"merge-stderr-to-stdout", 0, Meaning::quiet},
    {"use-hwthread-cpus", 0, Meaning::quiet},
    {"l", 0, Meaning::quiet},
    {"prepend-rank", 0, Meaning::quiet},
    {"print-rank-map", 0, Meaning::quiet},
    {"v", 0, Meaning::quiet},
    {"verbose", 0, Meaning::quiet},
    {"q", 0, Meaning::quiet},
    {"quiet", 0, Meaning::quiet},
    {"mpi", 0, Meaning::quiet},
    {"gloo", 0, Meaning::ignored},
    {"output-filename", 1, Meaning::ignored},
};

const Option* find_option(std::string_view name) {
  const auto found = std::find_if(std::begin(kOptions), std::end(kOptions),
                                  [&](const Option& option) { return option.name == name; });
  return found == std::end(kOptions) ? nullptr : &*found;
}

/// Open MPI parameters that place or connect processes have no effect because dlaunch does both.
bool is_of_launcher(std::string_view parameter) {
  constexpr std::array<std::string_view, 9> kPrefixes{"plm", "orte", "rmaps", "hwloc", "ras",
                                                      "oob", "odls", "iof",   "prte"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return parameter.starts_with(prefix); });
}

/// "ppr:N:node", processes per resource; nullopt: another mapping, or another resource.
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
                           "the launcher runs " + in_quotes(words_.front().text) +
                               "; dlaunch starts the program of mpirun, mpiexec or horovodrun" +
                               kOrAsItIs);
      return std::nullopt;
    }
    std::size_t at = 1;
    while (at < words_.size() && words_[at].text.starts_with('-')) {
      if (!read_option(at)) return std::nullopt;
    }
    for (; at < words_.size(); ++at) {
      if (words_[at].text == ":") {
        refuse(
            words_[at].range,
            std::string("several programs in one mpirun line (:) are not supported") + kOrAsItIs);
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
    const Option* option = find_option(name);
    if (option == nullptr) {
      refuse(word.range, "the option " + in_quotes(word.text) +
                             " of the launcher's command is not known; remove it, or write a "
                             "native job file (dlaunch convert, without it, is a start)");
      return false;
    }
    while (values.size() < static_cast<std::size_t>(option->values)) {
      // Hydra also accepts "-genv NAME=VALUE" as one word.
      const bool is_whole = option->meaning == Meaning::pair && values.size() == 1 &&
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

  bool apply(const Option& option, const LocatedText& word,
             const std::vector<LocatedText>& values) {
    switch (option.meaning) {
      case Meaning::ignored:
        line_.ignored.push_back(word.text);
        return true;
      case Meaning::quiet:
        return true;
      case Meaning::oversubscribe:
        line_.oversubscribe = true;
        return true;
      case Meaning::one_per_node:
        line_.per_node = LocatedNumber{1, word.range};
        return true;
      case Meaning::map_by:
        map_by(values.front().text, word);
        return true;
      case Meaning::by_node:
        map_by("node", word);
        return true;
      case Meaning::count:
        return read_count(word, values.front(), line_.processes);
      case Meaning::per_node:
        return read_count(word, values.front(), line_.per_node);
      case Meaning::pass:
        pass(values.front().text, values.front().range);
        return true;
      case Meaning::pass_list:
        line_.names_passed = true;
        pass_all(values.front().text, values.front().range);
        return true;
      case Meaning::pair:
        if (values.size() == 1) {
          pass(values.front().text, values.front().range);
        } else {
          line_.env.push_back({values[0].text, values[1].text, values[0].range});
        }
        return true;
      case Meaning::mca:
        if (!is_of_launcher(values[0].text))
          line_.env.push_back({"OMPI_MCA_" + values[0].text, values[1].text, values[0].range});
        return true;
    }
    return true;
  }

  bool read_count(const LocatedText& word, const LocatedText& value,
                  std::optional<LocatedNumber>& to) {
    const auto number = parse_integer(value.text);
    if (!number || *number < 1 || *number > kMostCounted) {
      refuse(value.range, word.text + " must have a number from 1 to " +
                              std::to_string(kMostCounted) + ", not " + in_quotes(value.text));
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

  /// "-x NAME" or "-x NAME=VALUE"
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
