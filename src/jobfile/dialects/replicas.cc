#include "jobfile/dialects/replicas.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "jobfile/dialects/shell_words.h"
#include "jobfile/launch_lines/shell_text.h"
#include "jobfile/scalar.h"
#include "jobfile/shell_quote.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

struct Meaning {
  std::string text;
  bool is_shell = false;
};

/// "$$" is "$", "$(NAME)" is a reference, and any other "$" is literal. Calls `find` for each name;
/// undefined references stay.
template <class Find>
LocatedText replaced(Translation& t, const LocatedText& word, const Find& find) {
  LocatedText out{"", word.range};
  bool needs_shell = false;
  const auto add = [&](std::string_view text) {
    out.text += text;
    append_in_double_quotes(out.shell, text);
  };
  const std::string_view text = word.text;
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "$$") == 0) {
      add("$");
      i += 2;
      continue;
    }
    const auto end = text.compare(i, 2, "$(") == 0 ? text.find(')', i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      add(text.substr(i++, 1));
      continue;
    }
    const auto meaning = find(std::string(text.substr(i + 2, end - i - 2)));
    if (meaning && out.text.size() + meaning->text.size() > kLongestValue) {
      t.diagnostics.error(word.range,
                          "this text is longer than 64 KiB with its variables replaced");
      return word;
    }
    if (!meaning) {
      add(text.substr(i, end + 1 - i));
    } else if (meaning->is_shell) {
      needs_shell = true;
      out.text += meaning->text;
      out.shell += meaning->text;
    } else {
      add(meaning->text);
    }
    i = end + 1;
  }
  out.shell = needs_shell ? '"' + out.shell + '"' : "";
  return out;
}

/// Whether the text in "$( )" is a name; any other text there is shell syntax.
bool is_name(std::string_view text) {
  const auto is_of_name = [](char c) {
    return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_of_name);
}

std::optional<Meaning> find_in(const std::vector<EnvVariable>& env, const std::string& name) {
  const auto found =
      std::find_if(env.rbegin(), env.rend(), [&](const EnvVariable& v) { return v.name == name; });
  if (found == env.rend()) return std::nullopt;
  return Meaning{found->value, found->is_shell};
}

bool is_passed(const Translation& t, const std::string& name) {
  const auto has_name = [&](const LocatedText& one) { return one.text == name; };
  return std::any_of(t.passed.begin(), t.passed.end(), has_name) ||
         std::any_of(t.secrets.begin(), t.secrets.end(), has_name);
}

}  // namespace

LocatedText with_references(Translation& t, const LocatedText& word,
                            const std::vector<EnvVariable>& env,
                            const std::vector<AddedVariable>& added) {
  return replaced(t, word, [&](const std::string& name) -> std::optional<Meaning> {
    for (const AddedVariable& one : added)
      if (one.name == name) return Meaning{one.value, one.is_shell};
    if (auto own = find_in(env, name)) return own;
    if (is_passed(t, name)) return Meaning{"${" + name + '}', true};
    if (is_name(name))
      t.note_at(word.range,
                "$(" + name + ") is not replaced: no variable of the container has " + "this name");
    return std::nullopt;
  });
}

LocatedText value_with_references(Translation& t, const LocatedText& value,
                                  const std::vector<EnvVariable>& before) {
  const auto find = [&](const std::string& name) {
    auto meaning = find_in(before, name);
    if (!meaning && is_passed(t, name)) {
      t.note_at(value.range, "$(" + name + ") is not replaced: its value is not in the file");
    } else if (!meaning && is_name(name)) {
      t.note_at(value.range, "$(" + name +
                                 ") is not replaced: a variable may refer only to those " +
                                 "before it in the file");
    }
    return meaning;
  };
  return replaced(t, value, find);
}

namespace {

bool has_variable(const Replicas& group, const EnvVariable& variable) {
  return std::any_of(group.env.begin(), group.env.end(), [&](const EnvVariable& other) {
    return other.name == variable.name && other.value == variable.value;
  });
}

/// Reports a job without a command. The image's own program, which `args` would follow, is not
/// known to dlaunch.
void refuse_no_command(Translation& t, const Replicas& replicas) {
  if (std::exchange(t.lacks_command, true)) return;
  const std::string& image = replicas.image.text;
  const std::string where = "the file has no command (dlaunch does not read the one in the image" +
                            (image.empty() ? "" : ' ' + in_quotes(image)) +
                            "); give one after --, ";
  const std::string args = line_of(replicas.args);
  t.diagnostics.error(
      replicas.range,
      where + (args.empty() ? "for example: -- python train.py"
                            : "without the args " + in_quotes(args) +
                                  ", which dlaunch appends; if these args are the whole command, "
                                  "use the key command instead of args"));
}

/// Notes that `args` are left out: --set command=... is the complete command, as for files that
/// have one.
void note_args_left_out(Translation& t, const Replicas& replicas) {
  if (replicas.args.empty()) return;
  t.note_at(replicas.args.front().range, "--set command is the whole command: the file's args " +
                                             in_quotes(line_of(replicas.args)) +
                                             " are not added to it");
}

}  // namespace

std::vector<LocatedText> words_of(Translation& t, const Replicas& replicas) {
  std::vector<LocatedText> words = replicas.command;
  if (words.empty() && t.is_set("command")) {
    note_args_left_out(t, replicas);
    return words;
  }
  if (words.empty()) {
    for (const std::string& argument : t.input.arguments)
      words.push_back({argument, replicas.range});
    t.took_arguments = true;
    if (words.empty()) refuse_no_command(t, replicas);
  }
  words.insert(words.end(), replicas.args.begin(), replicas.args.end());
  return words;
}

std::string line_of(const std::vector<LocatedText>& words) {
  std::string line;
  for (const LocatedText& word : words) {
    line += line.empty() ? "" : " ";
    line += word.shell.empty() ? shell_quote(word.text) : word.shell;
  }
  return line;
}

void set_command(NativeJob& job, const NativeJob::Path& path, const std::vector<LocatedText>& words,
                 SourceRange at) {
  const bool needs_shell = std::any_of(words.begin(), words.end(),
                                       [](const LocatedText& word) { return !word.shell.empty(); });
  if (needs_shell) return job.text(path, line_of(words), at);
  job.texts(path, words, at);
}

void set_container(Translation& t, NativeJob::Path path, const Replicas& group) {
  path.emplace_back("image");
  t.job.text(path, group.image.text, group.image.range);
  path.back() = "workdir";
  if (!group.workdir.text.empty()) t.job.text(path, group.workdir.text, group.workdir.range);
}

void set_roles(Translation& t, const std::vector<Replicas>& groups) {
  std::vector<Replicas> used;
  std::vector<std::vector<LocatedText>> commands;
  for (const Replicas& group : groups) {
    if (group.count.value == 0) continue;
    used.push_back(group);
    commands.push_back(words_of(t, group));
  }
  if (used.empty()) return;
  // A replica is a machine or a pod, so the replicas are spread over the nodes.
  const bool is_one = used.size() == 1 && used.front().count.value == 1;
  if (!is_one) t.job.text({"placement"}, "spread", used.front().range);
  const bool same_command = std::all_of(commands.begin(), commands.end(), [&](const auto& words) {
    return line_of(words) == line_of(commands.front());
  });
  if (same_command && !commands.front().empty())
    set_command(t.job, {"command"}, commands.front(), used.front().range);
  for (const EnvVariable& variable : used.front().env) {
    const bool is_shared = std::all_of(used.begin(), used.end(), [&](const Replicas& group) {
      return has_variable(group, variable);
    });
    if (is_shared) t.job.text({"env", variable.name}, variable.value, variable.range);
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    const Replicas& group = used[i];
    t.job.number({"roles", group.role, "count"}, group.count.value, group.count.range);
    if (!same_command && !commands[i].empty())
      set_command(t.job, {"roles", group.role, "command"}, commands[i], group.range);
    for (const EnvVariable& variable : group.env) {
      const bool is_shared = std::all_of(used.begin(), used.end(), [&](const Replicas& other) {
        return has_variable(other, variable);
      });
      if (!is_shared)
        t.job.text({"roles", group.role, "env", variable.name}, variable.value, variable.range);
    }
    if (!group.image.text.empty()) set_container(t, {"roles", group.role, "container"}, group);
  }
}

namespace {

std::optional<FieldMeaning> meaning_of(const Document& document, NodeId value_from,
                                       const FieldMeanings& meanings) {
  const auto field = value_of(document, value_from, "fieldRef");
  const auto path = field ? scalar_of(document, *field, "fieldPath") : std::nullopt;
  return path && meanings ? meanings(*path) : std::nullopt;
}

}  // namespace

std::vector<EnvVariable> read_env_list(Translation& t, ForeignKeys& keys, std::string_view name,
                                       Spelling spelling, const FieldMeanings& meanings) {
  std::vector<EnvVariable> variables;
  if (const auto all = keys.find(name); all && t.document[all->value].kind == NodeKind::mapping) {
    t.diagnostics.error(all->key,
                        keys.path_of(all->name) + " must be a list, such as [{name: A, value: b}]");
    return variables;
  }
  for (const NodeId item : keys.list(name)) {
    if (t.document[item].kind != NodeKind::mapping) {
      t.diagnostics.error(t.document[item].range, "a variable must be {name: ..., value: ...}");
      continue;
    }
    ForeignKeys variable(t.document, t.diagnostics, spelling, item, std::string(name));
    const auto variable_name = variable.text("name");
    if (!variable_name) {
      t.diagnostics.error(t.document[item].range, "a variable needs a name");
      continue;
    }
    if (const auto from = variable.find("valueFrom")) {
      if (auto meaning = meaning_of(t.document, from->value, meanings)) {
        variables.push_back({variable_name->text, std::move(meaning->value), variable_name->range,
                             meaning->is_shell});
        continue;
      }
      if (value_of(t.document, from->value, "secretKeyRef") || is_secret(variable_name->text)) {
        t.keep_secret(*variable_name);
        continue;
      }
      t.pass_on(*variable_name);
      t.note_at(from->key, variable_name->text +
                               " is passed on from dlaunch's own environment, as its value is not "
                               "in the file");
      continue;
    }
    const auto value = variable.text("value");
    if (value && !value->text.empty() && is_secret(variable_name->text)) {
      t.keep_secret(*variable_name);
      continue;
    }
    const LocatedText as_written{value ? value->text : "", variable_name->range};
    const LocatedText known = value_with_references(t, as_written, variables);
    const bool is_shell = !known.shell.empty();
    variables.push_back({variable_name->text,
                         is_shell ? known.shell.substr(1, known.shell.size() - 2) : known.text,
                         variable_name->range, is_shell});
  }
  return variables;
}

bool is_image_chosen(const Translation& t) {
  return t.input.foreign.no_container || t.is_set("container.image") || t.is_set("container");
}

std::optional<std::int64_t> nodes_of_command_line(const Translation& t) {
  std::optional<std::int64_t> nodes;
  for (const Override& override : t.input.overrides) {
    const auto number = override.key == "nodes" ? parse_integer(override.value) : std::nullopt;
    if (number && *number > 0) nodes = *number;
  }
  return nodes;
}

void set_limit(Translation& t, const LocatedText& duration) {
  std::string text = duration.text;
  if (text.ends_with('s')) text.pop_back();
  const auto seconds = parse_number(text);
  constexpr double kMostSeconds = 3e9;
  if (!seconds || *seconds < 0 || *seconds > kMostSeconds)
    return t.diagnostics.error(
        duration.range,
        "a duration must be in seconds, such as \"7200s\", not " + in_quotes(duration.text));
  const auto whole = static_cast<std::int64_t>(*seconds);
  if (whole > 0) t.job.text({"timeouts", "run"}, std::to_string(whole) + "s", duration.range);
}

}  // namespace dlaunch::jobfile
