#include "launch/session/inspect_message.h"

#include <filesystem>
#include <vector>

#include "plan/active_environment.h"
#include "plan/command.h"
#include "plan/inherited_env.h"
#include "plan/user_env.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

Environment without_secrets(const std::vector<Variable>& variables) {
  Environment env;
  for (const Variable& variable : variables) {
    if (variable.source != VariableSource::env_secret) env.emplace(variable.name, variable.value);
  }
  return env;
}

/// The programs with a path that the job's commands and its setup name, absolute.
std::vector<std::string> programs_of(const JobSpec& spec, const std::filesystem::path& workdir,
                                     const std::string& home) {
  std::vector<const Command*> commands = {&spec.command};
  for (const RoleSpec& role : spec.roles) {
    if (role.command) commands.push_back(&*role.command);
  }
  std::vector<std::string> programs;
  const auto add = [&](const std::string& program) {
    if (program.find('/') == std::string::npos) return;
    const std::string named = program.starts_with("~/") ? home + program.substr(1) : program;
    std::string path = (workdir / named).lexically_normal();
    if (!contains(programs, path)) programs.push_back(std::move(path));
  };
  for (const Command* command : commands) {
    for (std::size_t i = 0; i < command->argv.size(); ++i) {
      if (i == 0 || is_python(command->argv[i])) add(command->argv[i]);
    }
    for (const std::string& program : programs_in(command->line)) add(program);
  }
  for (const std::string& program : programs_in(spec.setup)) add(program);
  return programs;
}

}  // namespace

wire::Inspect inspect_message(const JobSpec& spec, const PlanContext& context,
                              const InspectionScope& wanted, bool is_launcher) {
  wire::Inspect question;
  question.gpus = wanted.gpus;
  question.collectives = wanted.collectives;
  question.folders = {"/tmp"};
  if (wanted.workdir) {
    const std::filesystem::path workdir =
        std::filesystem::path(context.current_folder) / spec.workdir;
    question.folders.push_back(workdir.lexically_normal());
    if (!syncs_workdir(spec)) question.code.push_back(question.folders.back());
    for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
      const std::string folder = find_variable(context.launcher_env, variable).value_or("");
      if (folder.starts_with('/')) question.code.push_back(folder + "/lib");
    }
    question.programs =
        programs_of(spec, workdir, find_variable(context.launcher_env, "HOME").value_or("~"));
  }
  if (!wanted.collectives) return question;
  if (!is_launcher) question.carried = carried_variables(context.launcher_env);
  question.env = without_secrets(user_variables(spec, context.launcher_env));
  return question;
}

}  // namespace dlaunch
