#include "jobfile/job_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "jobfile/dialects/native_job.h"
#include "jobfile/field_reader.h"
#include "jobfile/field_table.h"
#include "jobfile/host_name.h"
#include "jobfile/native_form.h"
#include "jobfile/overrides.h"
#include "jobfile/shell_quote.h"
#include "jobfile/validate.h"
#include "jobfile/yaml_writer.h"
#include "text/strings.h"
#include "text/utf8.h"

namespace dlaunch {

namespace {

using namespace jobfile;

Sources list_sources(const JobInput& input) {
  Sources sources;
  const std::string text = input.text.value_or("");
  sources.push_back(
      {input.text ? input.file : "", std::string(without_byte_order_mark(text)), false});
  for (const Override& override : input.overrides) {
    sources.push_back({override.origin, override.value, true});
  }
  return sources;
}

void append_arguments(const std::vector<std::string>& arguments, Command& command) {
  for (const std::string& argument : arguments) {
    if (!command.is_shell) {
      command.argv.push_back(argument);
      continue;
    }
    // A block scalar ends with a line feed; text after it would be a separate command.
    const auto end = command.line.find_last_not_of(" \t\n");
    command.line.erase(end == std::string::npos ? 0 : end + 1);
    command.line += " " + shell_quote(argument);
  }
}

void put_roles_in_rank_order(std::vector<RoleSpec>& roles) {
  constexpr std::array<std::string_view, 4> kOrder{"chief", "worker", "ps", "evaluator"};
  const auto position = [&kOrder](const RoleSpec& role) {
    return std::find(kOrder.begin(), kOrder.end(), role.name);
  };
  std::erase_if(roles, [](const RoleSpec& role) { return role.count == 0; });
  std::sort(roles.begin(), roles.end(), [&position](const RoleSpec& a, const RoleSpec& b) {
    return position(a) < position(b);
  });
}

/// The job's value for this key, for errors about too few hosts; empty: none.
std::string size_of(const JobSpec& job, const std::string& key) {
  if (key == "nodes" && job.nodes) return std::to_string(job.nodes->min);
  if (key == "spares") return std::to_string(job.spares);
  if (key == "processes" && job.processes) return std::to_string(*job.processes);
  const ProcessesPerNode& each = job.processes_per_node;
  const bool is_count = key == "processes_per_node" && each.kind == ProcessesPerNode::Kind::count;
  return is_count ? std::to_string(each.count) : "";
}

/// JobSpec::typed; for another system's file, with the foreign key and its line; for spares, with
/// the position, too.
std::map<std::string, std::string> typed_keys(const FieldReader& reader, const Sources& sources,
                                              const Diagnostics& diagnostics, const JobSpec& job,
                                              bool is_foreign) {
  std::map<std::string, std::string> typed;
  const auto position_text = [&](const SourceRange& range) {
    const Source& source = sources[range.source];
    const Location at = locate(source.text, range.offset);
    return source.name + ':' + std::to_string(at.line) + ':' + std::to_string(at.column);
  };
  for (const auto& [key, given] : reader.given()) {
    const Source& source = sources[given.value.source];
    if (source.is_argument) {
      typed[key] = source.name;
    } else if (key == "hostfile") {
      typed[key] = position_text(given.value);
    } else if (const std::string size = size_of(job, key);
               (is_foreign || key == "spares") && !size.empty() && !given.value.is_whole()) {
      const std::string theirs = diagnostics.key_at(key, given.value);
      typed[key] = '"' + key + ": " + size + "\" (" + (theirs == key ? "" : theirs + ", ") +
                   position_text(given.value) + ')';
    }
  }
  return typed;
}

bool command_has_error(const FieldReader& reader) {
  const auto found = reader.given().find("command");
  return found != reader.given().end() && !found->second.good;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text.substr(i));
    if (!c.valid) return false;
    i += c.size;
  }
  return true;
}

/// Command-line arguments are bytes, but a job file is UTF-8.
Error no_file_holds(std::string_view bytes) {
  return {exit_code::kJobFile,
          "error: " + in_quotes(bytes) +
              " is not UTF-8, so a job file cannot hold it; dlaunch run accepts it"};
}

/// Texts that replace those of the job, by key.
using Replaced = std::map<std::string_view, std::string>;

/// The absolute workdir; empty: leave it unchanged, because it is absolute or unknown, or in a
/// container, where the path may mean another folder.
std::string whole_workdir(const JobInput& input, const JobSpec& job) {
  const bool in_container =
      job.container || std::any_of(job.roles.begin(), job.roles.end(),
                                   [](const RoleSpec& role) { return role.container.has_value(); });
  const std::string& folder = input.foreign.current_folder;
  if (in_container || folder.empty() || job.workdir.starts_with('/')) return "";
  return job.workdir.empty() ? folder : folder + '/' + job.workdir;
}

/// The absolute path of the hostfile, which is relative to the folder of the job file or, if typed,
/// to the current folder; empty: leave it unchanged.
std::string whole_hostfile(const JobInput& input, const JobSpec& job) {
  const bool is_typed =
      std::any_of(input.overrides.begin(), input.overrides.end(),
                  [](const Override& override) { return override.key == "hostfile"; });
  const std::string& hostfile = job.hosts.hostfile;
  const std::string& folder = is_typed ? input.foreign.current_folder : input.foreign.folder;
  if (hostfile.empty() || folder.empty() || hostfile.starts_with('/')) return "";
  return folder + '/' + hostfile;
}

/// Absolute paths, with which the job can be read again from any folder.
Replaced whole_paths(const JobInput& input, const JobSpec& job) {
  Replaced paths{{"workdir", whole_workdir(input, job)}, {"hostfile", whole_hostfile(input, job)}};
  std::erase_if(paths, [](const auto& one) { return one.second.empty(); });
  return paths;
}

/// Reads one job file into its native form, including the settings of the command line.
class Reading {
 public:
  explicit Reading(const JobInput& input)
      : input_(input), sources_(list_sources(input)), diagnostics_(sources_) {}

  Result<JobReading> read() {
    auto form = native_form(input_, sources_, document_, diagnostics_);
    if (!form) return tl::unexpected(diagnostics_.to_error());
    form_ = std::move(*form);
    JobReading reading;
    for (const Document::Entry& entry : document_.entries(form_.root)) {
      const std::string& key = document_[entry.key].text;
      if (contains(input_.ignored, key)) reading.left_out.push_back(key);
    }
    for (const std::string& key : reading.left_out) document_.erase(form_.root, key);
    for (std::size_t i = 0; i < input_.overrides.size(); ++i) {
      apply_override(sources_, static_cast<std::uint32_t>(i + 1), input_.overrides[i].key,
                     document_, form_.root, diagnostics_);
    }
    JobSpec& job = reading.spec;
    FieldReader reader(document_, diagnostics_);
    reader.read(form_.root, job);
    if (!form_.took_arguments && !command_has_error(reader))
      append_arguments(input_.arguments, job.command);
    if (form_.dialect.empty() || diagnostics_.empty()) validate(job, reader.given(), diagnostics_);
    if (!diagnostics_.empty()) return tl::unexpected(diagnostics_.to_error());
    job.typed = typed_keys(reader, sources_, diagnostics_, job, !form_.dialect.empty());
    put_roles_in_rank_order(job.roles);
    if (job.name.empty() && !input_.text) job.name = name_from_command(job.command);
    reading.notes = form_.notes;
    reading.azure_size = form_.azure_size;
    return reading;
  }

  /// The native text of a valid job. `name`: for a job without one.
  [[nodiscard]] Result<std::string> body(const JobSpec& spec, const std::string& name,
                                         const Replaced& replaced) {
    NativeJob job(document_);
    const SourceRange nowhere = SourceRange::whole(0);
    job.text({"name"}, spec.name.empty() ? name : spec.name, nowhere);
    for (const std::string_view key : names_under("")) {
      const bool is_replaced = key == "name" || replaced.contains(key);
      const auto entry = is_replaced ? std::nullopt : document_.find(form_.root, key);
      if (entry) job.node({key}, entry->value, nowhere);
    }
    for (const auto& [key, text] : replaced) job.text({key}, text, nowhere);
    if (!input_.arguments.empty() && !form_.took_arguments) put_command(spec.command, job);
    for (const Node& node : document_.nodes)
      if (!is_utf8(node.text)) return tl::unexpected(no_file_holds(node.text));
    return write_yaml(document_, job.root());
  }

  [[nodiscard]] Result<std::string> text(const JobReading& reading, const std::string& name) {
    const auto job = body(reading.spec, name, {});
    if (!job) return job;
    std::string text = "# made by dlaunch convert";
    if (!input_.file.empty()) text += " from " + on_one_line(input_.file);
    if (!form_.dialect.empty()) text += " (" + form_.dialect + ')';
    text += '\n';
    for (const std::string& note : form_.notes) text += "# note: " + on_one_line(note) + '\n';
    return text + *job;
  }

 private:
  static std::string on_one_line(std::string_view line) {
    std::string text = presentable(line);
    for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    return text;
  }

  static void put_command(const Command& command, NativeJob& job) {
    const SourceRange nowhere = SourceRange::whole(0);
    if (command.is_shell) return job.text({"command"}, command.line, nowhere);
    std::vector<LocatedText> words;
    for (const std::string& word : command.argv) words.push_back({word, nowhere});
    job.texts({"command"}, words, nowhere);
  }

  const JobInput& input_;
  Sources sources_;
  Diagnostics diagnostics_;
  Document document_;
  NativeForm form_;
};

}  // namespace

Result<JobReading> read_any_job(const JobInput& input) {
  Reading reading(input);
  auto job = reading.read();
  if (job)
    job->native =
        reading.body(job->spec, input.default_name, whole_paths(input, job->spec)).value_or("");
  return job;
}

Result<JobSpec> read_job(const JobInput& input) {
  auto reading = read_any_job(input);
  if (!reading) return tl::unexpected(reading.error());
  return std::move(reading->spec);
}

Result<std::string> native_job_text(const JobInput& input, const std::string& name) {
  Reading reading(input);
  const auto job = reading.read();
  if (!job) return tl::unexpected(job.error());
  return reading.text(*job, name);
}

}  // namespace dlaunch
