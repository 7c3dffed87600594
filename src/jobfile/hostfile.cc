#include "jobfile/hostfile.h"

#include <algorithm>
#include <optional>

#include "jobfile/host_name.h"
#include "jobfile/hostfile_syntax.h"
#include "jobfile/hostlist.h"
#include "text/number.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

// Host entries including repetitions: 2,000 nodes with 128 slots each may have a line per slot.
constexpr std::size_t kMostLines = 262'144;

class Reader {
 public:
  Reader(std::string_view text, const std::string& name)
      : sources_{{name, std::string(text), false}}, diagnostics_(sources_) {}

  Result<Hostfile> read() {
    const std::vector<HostfileLine> lines = hostfile_lines(sources_[0].text, diagnostics_);
    find_form(lines);
    for (line_ = 0; line_ < lines.size() && !diagnostics_.is_full() && !is_too_long_; ++line_)
      read_line(lines[line_]);
    finish();
    if (!diagnostics_.empty()) return tl::unexpected(diagnostics_.to_error());
    return std::move(file_);
  }

 private:
  void error(SourceRange range, std::string message) {
    diagnostics_.error(range, std::move(message));
  }

  [[nodiscard]] std::uint32_t line_number(SourceRange range) const {
    return line_of(sources_[0].text, range.offset);
  }

  /// Takes the format of the first line that has a specific one; a line in another format is an
  /// error.
  void find_form(const std::vector<HostfileLine>& lines) {
    const HostfileLine* first = nullptr;
    for (const HostfileLine& line : lines) {
      const HostfileForm form = form_of(line);
      if (form == HostfileForm::names) continue;
      if (first == nullptr) {
        first = &line;
        file_.form = form;
      } else if (form != file_.form) {
        error(line.host.range, std::string("this line has a different format (") + described(form) +
                                   ") from line " + std::to_string(line_number(first->host.range)) +
                                   " (" + described(file_.form) + ")");
        return;
      }
    }
  }

  void read_line(const HostfileLine& line) {
    if (!check_host_word(line) || (form_of(line) != file_.form && is_mixed())) return;
    auto hosts = hosts_of(line.host);
    if (!hosts) return;
    Given given;
    if (!read_settings(line, given) || !read_words(line, given)) return;
    for (HostEntry& host : *hosts) {
      if (++seen_ > kMostLines ||
          (slots_by_host_.find(host.name) == nullptr && slots_by_host_.size() >= kMostHosts))
        return refuse_size(line);
      if (!add(line, std::move(host), given)) return;
    }
  }

  /// What a line sets for its hosts.
  struct Given {
    std::optional<std::int64_t> slots;
    std::optional<std::int64_t> max_slots;
    std::optional<std::int64_t> port;
    std::string_view user;
  };

  [[nodiscard]] bool is_mixed() const { return !diagnostics_.empty(); }

  void refuse_size(const HostfileLine& line) {
    is_too_long_ = true;
    error(line.host.range, "the file names more than " + std::to_string(kMostHosts) +
                               " hosts, or more than " + std::to_string(kMostLines) +
                               " host entries");
  }

  bool check_host_word(const HostfileLine& line) {
    const std::string_view host = line.host.text;
    if (host == "rank" && !line.settings.empty() && is_digits(line.settings[0].key.text)) {
      error(line.host.range,
            "this is a rankfile, which places individual ranks; a hostfile "
            "has a host on each line, such as \"gpu01 slots=4\"");
    } else if (line.begins_with_setting) {
      error(line.host.range, "the name of the host is missing before " + in_quotes(host));
    } else if (file_.form != HostfileForm::colon && contains(kKeywords, host)) {
      error(line.host.range,
            in_quotes(host) + " is a hostfile keyword, not a host; give the host another name");
    } else if (host.starts_with('^')) {
      error(line.host.range,
            "\"^\" to exclude a host is not supported; remove the line, or use --exclude");
    } else if (host.starts_with('+')) {
      error(line.host.range, "relative hosts (\"+n1\", \"+e\") are not supported; write the name");
    } else {
      return true;
    }
    return false;
  }

  std::optional<std::vector<HostEntry>> hosts_of(const HostfileWord& word) {
    std::string_view text = word.text;
    // "10.0.0.1: slots=2" occurs in practice, and Open MPI accepts it.
    if (text.ends_with(':') && !is_ipv6(text) && file_.form != HostfileForm::colon)
      text.remove_suffix(1);
    auto hosts = parse_hostlist(text);
    if (!hosts) {
      SourceRange range = hosts.error().range;
      range.offset += word.range.offset;
      error(range, std::move(hosts.error().message));
      return std::nullopt;
    }
    if (is_several_items(text)) {
      error(word.range, "write one host per line; a range such as gpu[01-04] counts as one");
      return std::nullopt;
    }
    return std::move(*hosts);
  }

  /// Commas outside of brackets.
  static bool is_several_items(std::string_view text) {
    bool inside = false;
    for (const char c : text) {
      if (c == '[' || c == ']') inside = c == '[';
      if (c == ',' && !inside) return true;
    }
    return text.empty();
  }

  bool read_settings(const HostfileLine& line, Given& given) {
    for (const HostfileSetting& setting : line.settings) {
      if (!read_setting(setting, given)) return false;
    }
    if (given.slots && given.max_slots && *given.max_slots < *given.slots) {
      error(line.host.range, "max_slots is less than slots");
      return false;
    }
    return true;
  }

  bool read_setting(const HostfileSetting& setting, Given& given) {
    const std::string_view key = setting.key.text;
    if (file_.form == HostfileForm::colon && key == "binding") {
      ignored_binding_ = ignored_binding_ ? ignored_binding_ : setting.key.range;
      return true;
    }
    const bool is_user = file_.form == HostfileForm::colon ? key == "user" : contains(kUser, key);
    if (is_user) return take_user(setting, given);
    if (contains(kSlots, key)) return take_number(setting, kMostSlots, given.slots);
    if (contains(kMaxSlots, key)) return take_number(setting, kMostSlots, given.max_slots);
    if (key == "port") return take_number(setting, 65'535, given.port);
    refuse_key(setting.key);
    return false;
  }

  void refuse_key(const HostfileWord& key) {
    const std::string word = lower(key.text);
    const bool is_case = contains(kSlots, word) || contains(kMaxSlots, word);
    error(key.range, "unknown setting " + in_quotes(key.text) +
                         (is_case ? "; write it in lower case"
                                  : "; a host can have slots=, max_slots=, port= and username="));
  }

  bool take_number(const HostfileSetting& setting, std::int64_t most,
                   std::optional<std::int64_t>& to) {
    const std::string key(setting.key.text);
    if (to) {
      error(setting.key.range, in_quotes(key) + " is given twice on this line");
      return false;
    }
    if (is_digits(setting.value.text)) to = number_of<std::int64_t>(setting.value.text);
    const std::int64_t least = key == "port" ? 1 : 0;
    if (to && *to >= least && *to <= most) return true;
    const SourceRange range = setting.value.text.empty() ? setting.key.range : setting.value.range;
    error(range,
          key + " must be a number from " + std::to_string(least) + " to " + std::to_string(most));
    return false;
  }

  bool take_user(const HostfileSetting& setting, Given& given) {
    const std::string problem = given.user.empty() ? problem_of_user(setting.value.text)
                                                   : "the user is given twice on this line";
    if (!problem.empty()) {
      error(setting.value.text.empty() ? setting.key.range : setting.value.range, problem);
      return false;
    }
    given.user = setting.value.text;
    return true;
  }

  bool read_words(const HostfileLine& line, Given& given) {
    for (std::size_t i = 0; i < line.words.size(); ++i) {
      const HostfileWord& word = line.words[i];
      if (file_.form == HostfileForm::columns) {
        if (i == 0 &&
            !take_number({{"the number of slots", word.range}, word}, kMostSlots, given.slots))
          return false;
        continue;
      }
      if (const std::string problem = problem_of_word(line, word); !problem.empty()) {
        error(word.range, problem);
        return false;
      }
      ++ignored_words_;
      if (!ignored_word_) ignored_word_ = word;
    }
    const bool needs_number = file_.form == HostfileForm::columns && !given.slots;
    if (needs_number) error(line.host.range, "the number of slots is missing after the host");
    return !needs_number;
  }

  /// Open MPI ignores other words, but a word that looks like a number of slots is probably meant
  /// to be one.
  [[nodiscard]] std::string problem_of_word(const HostfileLine& line,
                                            const HostfileWord& word) const {
    if (is_digits(word.text)) {
      return "it is unclear what " + in_quotes(word.text) + " means; for slots write \"" +
             std::string(line.host.text) + (file_.form == HostfileForm::colon ? ":" : " slots=") +
             std::string(word.text) + "\"";
    }
    if (contains(kKeywords, word.text) || contains(kMaxSlots, word.text))
      return in_quotes(word.text) + " has no value; write " + std::string(word.text) + "=4";
    if (file_.form == HostfileForm::colon || !problem_of_address(word.text).empty())
      return "unexpected " + in_quotes(word.text) + " after the host";
    return "";
  }

  /// Returns false after reporting an error.
  bool add(const HostfileLine& line, const HostEntry& host, const Given& given) {
    const bool is_known = slots_by_host_.find(host.name) != nullptr;
    SlotsByHost::Count& count = slots_by_host_.at(host.name, line_);
    if (!add_login(line, host, given, is_known, count.host)) return false;
    std::optional<std::int64_t> slots = given.slots ? given.slots : given.max_slots;
    if (host.slots > 0) {
      if (slots) {
        error(line.host.range, "the slots are given twice: after ':' and after '='");
        return false;
      }
      slots = host.slots;
    }
    if (file_.form == HostfileForm::colon && !slots) slots = 1;
    if (is_known && !may_repeat(line, host.name, slots.has_value(), count)) return false;
    count.last_line = line_;
    count.has_number = count.has_number || slots;
    count.slots += slots.value_or(0);
    count.bare += slots ? 0 : 1;
    if (count.slots + count.bare <= kMostSlots) return true;
    error(line.host.range,
          in_quotes(host.name) + " has more than " + std::to_string(kMostSlots) + " slots");
    return false;
  }

  bool may_repeat(const HostfileLine& line, const std::string& name, bool has_number,
                  const SlotsByHost::Count& count) {
    const bool jumps = file_.form == HostfileForm::colon && count.last_line + 1 < line_;
    const bool again = file_.form == HostfileForm::slots && has_number;
    if (!jumps && !again) return true;
    error(line.host.range,
          in_quotes(name) + (again ? " is already listed; give its slots on one line only"
                                   : " is already listed, with other hosts in between; MPICH "
                                     "would start a second group of ranks there, which dlaunch "
                                     "cannot do; put the lines of each host together"));
    return false;
  }

  bool add_login(const HostfileLine& line, const HostEntry& entry, const Given& given,
                 bool is_known, HostSpec& host) {
    if (!entry.user.empty() && !given.user.empty() && entry.user != given.user) {
      error(line.host.range, "two users are given for " + in_quotes(entry.name));
      return false;
    }
    const std::string user = entry.user.empty() ? std::string(given.user) : entry.user;
    const auto port = static_cast<std::uint16_t>(given.port.value_or(0));
    const bool differs = (!user.empty() && user != host.user) || (port != 0 && port != host.port);
    if (is_known && differs) {
      error(line.host.range,
            in_quotes(entry.name) + " is already listed with another user or port");
      return false;
    }
    if (!is_known) {
      host.user = user;
      host.port = port;
    }
    return true;
  }

  void finish() {
    const bool repeats =
        std::any_of(slots_by_host_.counts().begin(), slots_by_host_.counts().end(),
                    [](const SlotsByHost::Count& c) { return !c.has_number && c.bare > 1; });
    const bool lines_are_slots = repeats && file_.form == HostfileForm::names;
    std::size_t without = 0;
    for (SlotsByHost::Count& count : slots_by_host_.counts()) {
      const bool counts_lines = lines_are_slots || count.has_number || count.bare > 1;
      count.host.slots = counts_lines ? static_cast<int>(count.slots + count.bare) : 0;
      if (counts_lines && count.host.slots == 0) {
        ++without;
        add_note(count.host.name + " has slots=0 and is left out");
        continue;
      }
      file_.hosts.push_back(std::move(count.host));
    }
    if (file_.hosts.empty() && diagnostics_.empty()) {
      error(SourceRange::whole(0),
            without == 0 ? "the file names no host" : "no host has any slots");
    }
    note_ignored();
  }

  void add_note(std::string text) {
    constexpr std::size_t kMost = 4;
    if (file_.notes.size() < kMost)
      file_.notes.push_back(sources_[0].name + ": " + std::move(text));
  }

  void note_ignored() {
    if (ignored_binding_) {
      add_note("binding= has no effect (line " + std::to_string(line_number(*ignored_binding_)) +
               "); binding.cpus of the job applies");
    }
    if (!ignored_word_) return;
    add_note("text after the name has no effect (" + in_quotes(ignored_word_->text) + " on line " +
             std::to_string(line_number(ignored_word_->range)) +
             (ignored_words_ > 1 ? ", " + std::to_string(ignored_words_ - 1) + " more)" : ")"));
  }

  const Sources sources_;
  Diagnostics diagnostics_;
  Hostfile file_;
  SlotsByHost slots_by_host_;
  std::size_t line_ = 0;  // index of the current line
  std::size_t seen_ = 0;
  bool is_too_long_ = false;
  std::optional<SourceRange> ignored_binding_;
  std::optional<HostfileWord> ignored_word_;
  std::size_t ignored_words_ = 0;
};

/// Finds a control character: a shell or a terminal might interpret it, and a text file has none.
std::optional<std::size_t> first_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v') || c == 0x7f)
      return i;
  }
  return std::nullopt;
}

}  // namespace

Result<Hostfile> read_hostfile(std::string_view text, const std::string& name) {
  text = without_byte_order_mark(text);
  if (text.size() > kMostHostfileBytes) {
    return fail(exit_code::kJobFile, name + ": error: the file is larger than " +
                                         std::to_string(kMostHostfileBytes / 1024 / 1024) + " MiB");
  }
  if (const auto at = first_control(text)) {
    const Location where = locate(text, static_cast<std::uint32_t>(*at));
    return fail(exit_code::kJobFile, name + ":" + std::to_string(where.line) + ":" +
                                         std::to_string(where.column) +
                                         ": error: a control character; is this a text file?");
  }
  return Reader(text, name).read();
}

}  // namespace dlaunch::jobfile
