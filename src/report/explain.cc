#include "report/explain.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "jobfile/expectation.h"
#include "jobfile/field_table.h"
#include "jobfile/launch_lines/own_options.h"
#include "jobfile/shell_quote.h"
#include "report/known_causes.h"
#include "report/known_failures.h"
#include "report/own_messages.h"
#include "text/strings.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

using jobfile::Field;

constexpr std::size_t kMostRows = 5;

void add_row(std::string& out, std::string_view name, std::string_view text) {
  constexpr std::size_t kColumn = 11;
  append_wrapped(out, "  " + padded(name, kColumn - 2), std::string(kColumn, ' '), text);
}

/// "timeouts: {run: 2h}"
std::string example_in_file(const Field& field) {
  const std::string_view value = field.example.empty() ? field.fallback : field.example;
  const auto dot = field.key.rfind('.');
  if (dot == std::string_view::npos) return std::string(field.key) + ": " + std::string(value);
  std::string_view section = field.key.substr(0, dot);
  const std::string inside =
      '{' + std::string(field.key.substr(dot + 1)) + ": " + std::string(value) + '}';
  const auto outer = section.rfind('.');
  if (outer == std::string_view::npos) return std::string(section) + ": " + inside;
  return std::string(section.substr(0, outer)) + ": {" + std::string(section.substr(outer + 1)) +
         ": " + inside + '}';
}

bool is_plain_key(const Field& field) {
  return field.key.find_first_of("[*") == std::string_view::npos;
}

std::string help_of_key(const Field& field) {
  std::string text = std::string(field.key) + '\n';
  append_wrapped(text, "  ", "  ", field.help);
  add_row(text, "value", expectation(field) + (field.record.empty() ? "" : ", or a mapping"));
  if (field.required) {
    add_row(text, "default", "none: the key is required");
  } else if (!field.fallback.empty()) {
    add_row(text, "default", field.fallback);
  }
  const bool has_value = !field.example.empty() || !field.fallback.empty();
  if (!is_plain_key(field) || !has_value) return text;
  const std::string_view value = field.example.empty() ? field.fallback : field.example;
  text += "  job file " + example_in_file(field) + '\n';
  return text + "  option   --set " + std::string(field.key) + '=' + jobfile::shell_quote(value) +
         '\n';
}

std::string help_of_section(std::string_view prefix) {
  std::string text;
  for (const std::string_view name : jobfile::names_under(prefix)) {
    const Field* field = jobfile::find_field(std::string(prefix) + std::string(name));
    if (field != nullptr)
      append_wrapped(text, "  " + padded(field->key, 30) + ' ', std::string(33, ' '), field->help);
  }
  return text.empty() ? text
                      : "keys of " + std::string(prefix.substr(0, prefix.size() - 1)) + '\n' + text;
}

void add_reason_and_advice(std::string& text, std::string_view why, std::string_view advice) {
  append_wrapped(text, "  why: ", "       ", why);
  if (!advice.empty()) append_wrapped(text, "  try: ", "       ", advice);
}

std::string help_of_failure(const KnownFailure& row) {
  std::string text = std::string(row.name) + '\n';
  if (!row.pattern.empty())
    append_wrapped(text, "  message: ", "           ", "... " + std::string(row.pattern) + " ...");
  add_reason_and_advice(text, row.why, row.advice);
  return text;
}

std::string help_of_own_message(const OwnMessage& row, std::string_view advice) {
  std::string text;
  append_wrapped(text, "", "  ", row.text);
  add_reason_and_advice(text, row.meaning, advice);
  return text;
}

std::string help_of_peer_loss(const PeerLoss& row) {
  std::string text;
  append_wrapped(text, "", "  ",
                 "The error says that " + std::string(row.means) +
                     ": the cause is in what that rank printed.");
  return text + "  try: dlaunch logs\n";
}

/// The words of the text, in lower case; a word consists of letters and digits.
std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : lower(text) + ' ') {
    if (is_letter_or_digit(c)) {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  return words;
}

/// Whether `all`, the text known about a message, contains all of `words`.
bool is_about(const std::set<std::string>& words, const std::string& all) {
  const auto known = words_of(all);
  return !words.empty() && std::includes(known.begin(), known.end(), words.begin(), words.end());
}

/// Help for those of dlaunch's messages and known failures that contain all words of the text.
std::string rows_about(std::string_view text) {
  constexpr std::size_t kShortest = 3;
  if (text.size() < kShortest) return "";
  const auto words = words_of(text);
  std::vector<std::string> rows;
  for (const OwnMessage& row : own_messages()) {
    if (is_about(words, std::string(row.text)))
      rows.push_back(help_of_own_message(row, row.advice));
  }
  for (const KnownFailure& row : known_failures()) {
    if (is_about(words, std::string(row.pattern) + ' ' + std::string(row.why) + ' ' +
                            std::string(row.name) + ' ' + std::string(row.advice)))
      rows.push_back(help_of_failure(row));
  }
  const std::size_t more = rows.size() - std::min(rows.size(), kMostRows);
  rows.resize(rows.size() - more);
  std::string all = joined(rows, "\n");
  if (more > 0)
    all +=
        '\n' + counted(more, "more message") + ": add words of the message to narrow the search\n";
  return all;
}

}  // namespace

std::string key_help(std::string_view topic) {
  std::string text;
  const auto add = [&](const std::string& more) {
    if (!more.empty()) text += (text.empty() ? "" : "\n") + more;
  };
  if (const Field* field = jobfile::find_field(topic)) add(help_of_key(*field));
  if (jobfile::is_section(std::string(topic) + '.')) add(help_of_section(std::string(topic) + '.'));
  if (!text.empty()) return text;
  for (const Field& field : jobfile::fields()) {
    if (is_plain_key(field) && field.key.ends_with('.' + std::string(topic)))
      add(help_of_key(field));
  }
  if (!text.empty()) return text;
  for (const Field& field : jobfile::fields()) {
    if (contains(split_words(field.also), topic)) add(help_of_key(field));
  }
  return text;
}

std::string message_help(std::string_view text) {
  for (const KnownFailure& row : known_failures())
    if (row.name == text) return help_of_failure(row);
  const auto own = find_own_message(text);
  if (own && own->row->certain) return help_of_own_message(*own->row, own->advice);
  Evidence evidence;
  for (std::string_view rest = text; !rest.empty();)
    evidence.last_lines.emplace_back(take_line(rest));
  const KnownFailure* row = find_known_failure(evidence, nullptr);
  if (const PeerLoss* loss = find_peer_loss(evidence))
    return help_of_peer_loss(*loss) + (row == nullptr ? "" : '\n' + help_of_failure(*row));
  if (row != nullptr) return help_of_failure(*row);
  return own ? help_of_own_message(*own->row, own->advice) : rows_about(text);
}

std::string option_help(std::string_view option) {
  const std::string name = jobfile::option_name(option);
  std::string text;
  for (const jobfile::LauncherOption& row : jobfile::launcher_options()) {
    const bool may_be_typed = (row.launchers & jobfile::launcher::kAll) != 0;
    if (row.name != name || !may_be_typed) continue;
    jobfile::OwnOptions own;
    std::vector<std::string> values(row.values, "VALUE");
    if (values.size() > 1) values.front() = "NAME";
    own.add(row, std::string(option), values);
    own.settle();
    own.advised.clear();  // `left_out` says it
    std::string here = own.is_module ? "-- python3 -m MODULE" : joined(own.words(), " ");
    for (const jobfile::LeftOut& one : own.left_out) here += (here.empty() ? "" : "; ") + one.why;
    if (here.empty()) here = "not needed: dlaunch does this by itself";
    append_wrapped(
        text,
        std::string(option) + " of " + std::string(jobfile::name_of_launcher(row.launchers)) + ": ",
        "  ", here);
  }
  return text;
}

std::vector<std::string_view> topic_names() {
  std::set<std::string_view> names;
  for (const Field& field : jobfile::fields()) {
    if (!is_plain_key(field)) continue;
    names.insert(field.key);
    const auto dot = field.key.rfind('.');
    if (dot == std::string_view::npos) continue;
    names.insert(field.key.substr(0, dot));
    names.insert(field.key.substr(dot + 1));
  }
  for (const KnownFailure& row : known_failures()) names.insert(row.name);
  return {names.begin(), names.end()};
}

}  // namespace dlaunch
