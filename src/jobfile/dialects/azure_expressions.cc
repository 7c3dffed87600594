// Resolves ${{inputs.x}}, ${{outputs.x}} and $[[ optional parts ]].
#include <algorithm>

#include "jobfile/dialects/azure_v2.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

namespace dlaunch::jobfile::azure {

namespace {

/// The source range of `part` of a value, or the range of the value if the file does not contain
/// `part` literally (a folded text has other line ends).
SourceRange place_of_part(const Translation& translation, SourceRange value,
                          std::string_view part) {
  const std::string& text = translation.sources[value.source].text;
  if (value.is_whole()) return value;
  const auto at = text.find(part, value.offset);
  if (at == std::string::npos) return value;
  return {value.source, static_cast<std::uint32_t>(at),
          static_cast<std::uint32_t>(std::min(part.find('\n'), part.size()))};
}

/// ", did you mean "lr"?; it has lr, data"
std::string known_names(std::string_view name, std::string_view kind,
                        const std::vector<Binding>& bindings) {
  std::vector<std::string_view> names;
  names.reserve(bindings.size());
  for (const Binding& binding : bindings) names.push_back(binding.name);
  if (names.empty()) return "; the job has none: add it under " + std::string(kind);
  name.remove_prefix(kind.size() + 1);
  return did_you_mean(name, names) + "; it has " + joined(names);
}

class Resolver {
 public:
  Resolver(Translation& translation, const LocatedText& command, const Bindings& bindings)
      : translation_(translation), command_(command), bindings_(bindings) {}

  std::string resolve(std::string_view text) {
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t next = std::min(text.find_first_of("${", at), text.size());
      out += text.substr(at, next - at);
      at = next;
      if (at == text.size()) break;
      if (text.compare(at, 3, "$[[") == 0) {
        at = optional_part(text, at, out);
      } else if (text.compare(at, 3, "${{") == 0) {
        at = expression(text, at, 3, "}}", out);
      } else if (is_shell_brace(text, at)) {
        note_shell_brace(text.substr(at, text.find('}', at) + 1 - at));
        out += text[at++];
      } else if (text.compare(at, 2, "{{") == 0) {
        at = template_brace(text, at, out);
      } else if (is_single_brace(text, at)) {
        at = expression(text, at, 1, "}", out);
      } else {
        out += text[at++];
      }
    }
    return out;
  }

 private:
  /// Whether "{inputs.x}" of the 2021 preview begins at `at`, with the name of an input or output.
  [[nodiscard]] bool is_single_brace(std::string_view text, std::size_t at) const {
    constexpr std::size_t kLongestName = 256;
    if (text[at] != '{' || (at > 0 && (text[at - 1] == '{' || text[at - 1] == '$'))) return false;
    const std::string_view rest = text.substr(at + 1, kLongestName);
    const std::string_view inside = rest.substr(0, rest.find('}'));
    return inside.size() < rest.size() && (find(inside, "inputs.", bindings_.inputs) != nullptr ||
                                           find(inside, "outputs.", bindings_.outputs) != nullptr);
  }

  /// Whether "${inputs.x}" begins at `at`: a bad substitution in a shell, but possibly a valid text
  /// for other programs.
  [[nodiscard]] bool is_shell_brace(std::string_view text, std::size_t at) const {
    if (text.compare(at, 2, "${") != 0) return false;
    const std::string_view inside = text.substr(at + 2, text.find('}', at) - at - 2);
    return find(inside, "inputs.", bindings_.inputs) != nullptr ||
           find(inside, "outputs.", bindings_.outputs) != nullptr;
  }

  void note_shell_brace(std::string_view whole) {
    const std::string name(whole.substr(2, whole.size() - 3));
    translation_.note_at(command_.range, in_quotes(std::string(whole)) +
                                             " is left to the shell; for the value of " + name +
                                             " write ${{" + name + "}}");
  }

  /// Handles "{{inputs.x}}": an expression without its $, or text for a template engine (Jinja).
  std::size_t template_brace(std::string_view text, std::size_t at, std::string& out) {
    constexpr std::size_t kBraces = 2;
    const auto end = text.find("}}", at);
    if (end != std::string_view::npos) {
      const std::string_view name = trimmed(text.substr(at + kBraces, end - at - kBraces));
      if (find(name, "inputs.", bindings_.inputs) != nullptr ||
          find(name, "outputs.", bindings_.outputs) != nullptr) {
        translation_.note_at(command_.range, in_quotes(text.substr(at, end + kBraces - at)) +
                                                 " is left as it is; did you mean ${{" +
                                                 std::string(name) + "}}?");
      }
    }
    out += text.substr(at, kBraces);
    return at + kBraces;
  }

  static const Binding* find(std::string_view expression, std::string_view prefix,
                             const std::vector<Binding>& bindings) {
    if (!expression.starts_with(prefix)) return nullptr;
    expression.remove_prefix(prefix.size());
    const auto found = std::find_if(bindings.begin(), bindings.end(),
                                    [&](const Binding& b) { return b.name == expression; });
    return found == bindings.end() ? nullptr : &*found;
  }

  void error(std::string_view part, std::string message) {
    if (translation_.diagnostics.is_full()) return;
    translation_.diagnostics.error(place_of_part(translation_, command_.range, part),
                                   std::move(message));
  }

  /// Resolves an expression and returns the offset after it.
  std::size_t expression(std::string_view text, std::size_t at, std::size_t open,
                         std::string_view close, std::string& out) {
    const auto end = text.find(close, at);
    if (end == std::string_view::npos) {
      error(text.substr(at), "this expression has no end (" + std::string(close) + ")");
      return text.size();
    }
    const std::string_view whole = text.substr(at, end + close.size() - at);
    append_value(trimmed(text.substr(at + open, end - at - open)), whole, out);
    return end + close.size();
  }

  void append_value(std::string_view name, std::string_view whole, std::string& out) {
    const Binding* binding = find(name, "inputs.", bindings_.inputs);
    if (binding == nullptr) binding = find(name, "outputs.", bindings_.outputs);
    if (binding != nullptr) {
      if (binding->value) {
        out += *binding->value;
      } else {
        missing_ = true;
        if (in_optional_) return;
        no_value(*binding, whole);
        out += whole;
      }
      return;
    }
    out += whole;  // so that a text that is only this expression is not empty
    if (name.starts_with("inputs.")) {
      error(whole, in_quotes(name) + " is not an input of this job" +
                       known_names(name, "inputs", bindings_.inputs));
    } else if (name.starts_with("outputs.")) {
      error(whole, in_quotes(name) + " is not an output of this job" +
                       known_names(name, "outputs", bindings_.outputs));
    } else if (name.starts_with("search_space.")) {
      error(whole, in_quotes(name) + " is chosen by a sweep, which dlaunch does not run");
    } else {
      error(whole, "unknown expression " + in_quotes(name) +
                       "; a command supports ${{inputs.NAME}} and ${{outputs.NAME}}");
    }
  }

  void no_value(const Binding& binding, std::string_view whole) {
    error(whole, "the input " + binding.name + " has no value; give one: --input " + binding.name +
                     (binding.is_path ? "=./dir" : "=VALUE"));
  }

  std::size_t optional_part(std::string_view text, std::size_t at, std::string& out) {
    const auto end = text.find("]]", at);
    if (end == std::string_view::npos) {
      error(text.substr(at), "this optional part has no end (]])");
      return text.size();
    }
    in_optional_ = true;
    missing_ = false;
    const std::string inside = resolve(text.substr(at + 3, end - at - 3));
    in_optional_ = false;
    if (!missing_) out += inside;
    return end + 2;
  }

  Translation& translation_;
  const LocatedText& command_;
  const Bindings& bindings_;
  bool in_optional_ = false;
  bool missing_ = false;
};

}  // namespace

std::string resolve_command(Translation& translation, const LocatedText& command,
                            const Bindings& bindings) {
  return Resolver(translation, command, bindings).resolve(command.text);
}

}  // namespace dlaunch::jobfile::azure
