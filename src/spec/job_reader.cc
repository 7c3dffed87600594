#include "spec/job_reader.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "spec/field_reader.h"
#include "spec/job_name.h"
#include "spec/overrides.h"
#include "spec/shell_quote.h"
#include "spec/validate.h"
#include "spec/yaml_reader.h"

namespace dlaunch {

namespace {

using namespace spec;

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

/// The mapping that the keys are read from; nullopt: the file holds none, which was reported.
std::optional<NodeId> read_root(const JobInput& input, const Sources& sources, Document& document,
                                Diagnostics& diagnostics) {
  if (!input.text) {
    Node empty;
    empty.kind = NodeKind::mapping;
    return document.add(std::move(empty));
  }
  const auto root = read_yaml(sources, 0, document, diagnostics);
  if (!root) return std::nullopt;
  const Node& node = document[*root];
  if (node.kind == NodeKind::mapping) return root;
  diagnostics.error(
      node.kind == NodeKind::null ? Place::whole(0) : node.place,
      node.kind == NodeKind::null
          ? "the file is empty"
          : "a job file is made of keys and values, such as \"command: python train.py\"");
  return std::nullopt;
}

void append_arguments(const std::vector<std::string>& arguments, Command& command) {
  for (const std::string& argument : arguments) {
    if (!command.is_shell) {
      command.argv.push_back(argument);
      continue;
    }
    // A block scalar ends with a line feed, and what follows one would be a command of its own.
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

/// Takes entries out of a mapping; their nodes stay, as aliases may lead to them.
std::vector<std::string> leave_out(const std::vector<std::string>& keys, Document& document,
                                   Node& root) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i + 1 < root.items.size();) {
    const std::string& key = document[root.items[i]].text;
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      i += 2;
      continue;
    }
    found.push_back(key);
    const auto at = root.items.begin() + static_cast<std::ptrdiff_t>(i);
    root.items.erase(at, at + 2);
  }
  return found;
}

/// See JobSpec::typed.
std::map<std::string, std::string> typed_keys(const FieldReader& reader, const Sources& sources) {
  std::map<std::string, std::string> typed;
  for (const auto& [key, given] : reader.given()) {
    const Source& source = sources[given.value.source];
    if (source.is_argument) {
      typed[key] = source.name;
    } else if (key == "hostfile") {
      const Location at = locate(source.text, given.value.offset);
      typed[key] = source.name + ':' + std::to_string(at.line) + ':' + std::to_string(at.column);
    }
  }
  return typed;
}

bool command_has_error(const FieldReader& reader) {
  const auto found = reader.given().find("command");
  return found != reader.given().end() && !found->second.good;
}

}  // namespace

Result<JobSpec> read_job(const JobInput& input, std::vector<std::string>* left_out) {
  const Sources sources = list_sources(input);
  Diagnostics diagnostics(sources);
  Document document;
  const auto root = read_root(input, sources, document, diagnostics);
  if (!root) return tl::unexpected(diagnostics.to_error());
  std::vector<std::string> found = leave_out(input.ignored, document, document[*root]);
  if (left_out != nullptr) *left_out = std::move(found);
  for (std::size_t i = 0; i < input.overrides.size(); ++i) {
    apply_override(sources, static_cast<std::uint32_t>(i + 1), input.overrides[i].key, document,
                   *root, diagnostics);
  }

  JobSpec job;
  FieldReader reader(document, diagnostics, NotYet::refuse);
  reader.read(*root, job);
  if (!command_has_error(reader)) append_arguments(input.arguments, job.command);
  validate(job, reader.given(), diagnostics);
  if (!diagnostics.empty()) return tl::unexpected(diagnostics.to_error());

  job.typed = typed_keys(reader, sources);
  put_roles_in_rank_order(job.roles);
  if (job.name.empty() && !input.text) job.name = name_from_command(job.command);
  return job;
}

}  // namespace dlaunch
