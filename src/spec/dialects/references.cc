// Rules: Pod's API reference of Kubernetes (Container.command, EnvVar.value) and its expand.go; the
// REST reference of Vertex AI (EnvVar.value) has the same ones.
#include "spec/dialects/references.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "spec/dialects/shell_words.h"

namespace dlaunch::spec {

namespace {

struct Meaning {
  std::string text;
  bool is_shell = false;
};

/// "$$" is "$", "$(NAME)" is a reference, and any other "$" is itself. `find` is asked for each
/// name; without a meaning the reference stays.
template <class Find>
PlacedText replaced(const PlacedText& word, const Find& find) {
  PlacedText out{"", word.place};
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

/// Other text in "$( )" belongs to a shell.
bool is_name(std::string_view text) {
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_of_name);
}

std::optional<Meaning> find_in(const std::vector<EnvVariable>& env, const std::string& name) {
  const auto found =
      std::find_if(env.rbegin(), env.rend(), [&](const EnvVariable& v) { return v.name == name; });
  if (found == env.rend()) return std::nullopt;
  return Meaning{found->value};
}

bool is_passed(const Translation& t, const std::string& name) {
  return std::any_of(t.passed.begin(), t.passed.end(),
                     [&](const PlacedText& one) { return one.text == name; });
}

}  // namespace

PlacedText with_references(Translation& t, const PlacedText& word,
                           const std::vector<EnvVariable>& env,
                           const std::vector<AddedVariable>& added) {
  return replaced(word, [&](const std::string& name) -> std::optional<Meaning> {
    for (const AddedVariable& one : added)
      if (one.name == name) return Meaning{one.value, one.is_shell};
    if (auto own = find_in(env, name)) return own;
    if (is_passed(t, name)) return Meaning{"${" + name + '}', true};
    if (is_name(name))
      t.note_at(word.place,
                "$(" + name + ") stays as it is: no variable of the container has " + "this name");
    return std::nullopt;
  });
}

std::string value_with_references(Translation& t, const PlacedText& value,
                                  const std::vector<EnvVariable>& before) {
  const auto find = [&](const std::string& name) {
    auto meaning = find_in(before, name);
    if (!meaning && is_passed(t, name)) {
      t.note_at(value.place, "$(" + name + ") stays as it is: its value is not in the file");
    } else if (!meaning && is_name(name)) {
      t.note_at(value.place, "$(" + name + ") stays as it is: a variable may refer only to those " +
                                 "before it in the file");
    }
    return meaning;
  };
  return replaced(value, find).text;
}

}  // namespace dlaunch::spec
