#include "jobfile/host_name.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "jobfile/diagnostics.h"
#include "jobfile/hostlist.h"
#include "model/environment.h"
#include "model/ip_address.h"
#include "text/strings.h"
#include "text/utf8.h"

namespace dlaunch::jobfile {

namespace {

constexpr std::size_t kMostUserLength = 256;      // useradd(8) allows 32, directories more
constexpr std::size_t kMostInterfaceLength = 15;  // IFNAMSIZ of linux/if.h, with its NUL

/// All bytes of the first character that `is_good` refuses; empty: none.
template <class Good>
std::string_view first_bad(std::string_view text, Good is_good) {
  const auto found = std::find_if_not(text.begin(), text.end(), is_good);
  const auto at = static_cast<std::size_t>(found - text.begin());
  if (at == text.size()) return {};
  std::size_t end = at + 1;
  while (end < text.size() && is_utf8_continuation(text[end])) ++end;
  return text.substr(at, end - at);
}

template <class Good>
std::string problem_of(std::string_view text, const char* what, std::size_t most, Good is_good) {
  if (text.empty()) return std::string(what) + " must not be empty";
  if (text.front() == '-') return std::string(what) + " cannot begin with '-'";
  if (text.size() > most)
    return std::string(what) + " has at most " + std::to_string(most) + " characters";
  const std::string_view bad = first_bad(text, is_good);
  return bad.empty() ? "" : in_quotes(bad) + " cannot be part of " + what;
}

constexpr std::array<std::string_view, 8> kScriptEndings{".py", ".sh", ".bash", ".R",
                                                         ".jl", ".pl", ".rb",   ".lua"};

/// "train" for "src/train.py"; empty if it is not a script.
std::string_view script_stem(std::string_view argument) {
  const std::string_view name = file_name(argument);
  if (argument.starts_with('-')) return {};
  for (const std::string_view ending : kScriptEndings) {
    if (name.size() > ending.size() && name.ends_with(ending))
      return name.substr(0, name.size() - ending.size());
  }
  return {};
}

}  // namespace

bool is_name_character(char c) {
  return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
}

bool is_ipv6(std::string_view text) {
  const auto percent = text.find('%');
  if (percent != std::string_view::npos) {
    const std::string_view zone = text.substr(percent + 1);
    if (zone.empty() || !std::all_of(zone.begin(), zone.end(), is_name_character)) return false;
  }
  const std::string_view address = text.substr(0, percent);
  const auto first = address.find(':');
  return first != std::string_view::npos &&
         address.find(':', first + 1) != std::string_view::npos &&
         address.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

std::string problem_of_address(std::string_view text) {
  if (is_ipv6(text) && text.size() <= kMostNameLength) return "";
  const bool has_brackets = text.starts_with('[') && text.find(']') != std::string_view::npos;
  if (has_brackets && is_ipv6(text.substr(1, text.find(']') - 1)))
    return "write an IPv6 address without brackets here, and its port under the key port";
  const auto colon = text.find(':');
  const bool has_port = colon != std::string_view::npos && colon + 1 < text.size() &&
                        text.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (has_port) return "give the port under the key port, not after the address";
  return problem_of(text, "an address", kMostNameLength, is_name_character);
}

std::string problem_of_user(std::string_view text) {
  return problem_of(text, "a user name", kMostUserLength, is_name_character);
}

std::string problem_of_interface(std::string_view text) {
  if (text.starts_with('^')) text.remove_prefix(1);
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = text.find(',');
    is_last = comma == std::string_view::npos;
    std::string_view word = text.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    if (!is_last) text.remove_prefix(comma + 1);
    if (word.find('/') != std::string_view::npos) {
      if (!parse_network(word)) return in_quotes(word) + " is not a subnet such as 10.1.0.0/16";
      continue;
    }
    std::string problem =
        problem_of(word, "the name of an interface", kMostInterfaceLength,
                   [](char c) { return is_name_character(c) || c == ':' || c == '@' || c == '*'; });
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string problem_of_hosts(std::string_view text) {
  const auto hosts = count_hosts(text);
  if (!hosts) return hosts.error().message;
  return *hosts == 0 ? "no host is named" : "";
}

std::string problem_of_argument(std::string_view text) {
  const bool has_control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (has_control) return "control characters are not allowed";
  if (text.starts_with('-')) return "the value cannot begin with '-'";
  return "";
}

std::string problem_of_module(std::string_view text) {
  const std::string_view whole = text;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_variable_name(text.substr(0, dot)))
      return in_quotes(whole) + " is not the name of a Python module, such as torch.nn";
    if (dot == std::string_view::npos) return "";
    text.remove_prefix(dot + 1);
  }
}

std::string name_from_command(const Command& command) {
  const std::vector<std::string_view> words =
      command.is_shell ? split_words(command.line)
                       : std::vector<std::string_view>(command.argv.begin(), command.argv.end());
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (const auto stem = script_stem(words[i]); !stem.empty()) return std::string(stem);
    const bool is_module = i > 0 && words[i] == "-m" && i + 1 < words.size();
    if (is_module) return std::string(words[i + 1].substr(words[i + 1].rfind('.') + 1));
  }
  return words.empty() ? "" : std::string(file_name(words[0]));
}

std::string name_as_word(std::string_view name) {
  constexpr std::size_t kMost = 64;
  std::string word;
  for (const char c : name) {
    const char kept = is_name_character(c) ? c : '-';
    if (word.empty() && (kept == '-' || kept == '.')) continue;
    if (word.size() < kMost) word += kept;
  }
  return word.empty() ? "dlaunch" : word;
}

}  // namespace dlaunch::jobfile
