// Job files of other systems in tests/data/jobs/foreign, each with its expected translation in
// NAME.expect: derived by hand from the rules that the lines cite. README.md there describes the
// form.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/job_reader.h"
#include "plan/command.h"
#include "plan/make_plan.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "/jobs";

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path data_folder() {
  return fs::path(DLAUNCH_TEST_DATA) / "jobs" / "foreign";
}

struct Line {
  std::size_t number = 0;
  std::string word;
  std::string rest;
};

struct Case {
  std::size_t nodes = 1;
  std::size_t gpus = 0;
  JobInput input;
  std::vector<Line> expected;
};

NamedValue named(const std::string& option, const std::string& text) {
  const auto equals = text.find('=');
  return {text.substr(0, equals), text.substr(equals + 1), option + ' ' + text};
}

void read_given(const std::string& text, Case& one) {
  const auto space = text.find(' ');
  const std::string word = text.substr(0, space);
  const std::string value = space == std::string::npos ? "" : text.substr(space + 1);
  if (word == "nodes") {
    one.nodes = std::stoul(value);
  } else if (word == "gpus") {
    one.gpus = std::stoul(value);
  } else if (word == "input") {
    one.input.foreign.inputs.push_back(named("--input", value));
  } else if (word == "output") {
    one.input.foreign.outputs.push_back(named("--output", value));
  } else if (word == "step") {
    one.input.foreign.step = value;
  } else if (word == "no-container") {
    one.input.foreign.no_container = true;
  } else if (word == "module") {
    one.input.foreign.module = {"module", value, "--module " + value};
  } else if (word == "package") {
    one.input.foreign.package = {"package", value, "--package-path " + value};
  } else if (word == "argument") {
    one.input.arguments.push_back(value);
  } else if (word == "set") {
    const NamedValue set = named("--set", value);
    one.input.overrides.push_back({set.name, set.value, set.origin});
  } else {
    ADD_FAILURE() << "unknown: given " << text;
  }
}

Case read_case(const fs::path& job) {
  Case one;
  one.input.text = contents(job);
  one.input.file = job.filename().string();
  one.input.foreign.folder = kFolder;
  one.input.foreign.current_folder = kFolder;
  one.input.foreign.read_file = [](const std::string& path) -> Result<std::string> {
    const fs::path file = data_folder() / fs::path(path).lexically_relative(kFolder);
    if (!fs::exists(file)) return fail(exit_code::kJobFile, "no file " + path);
    return contents(file);
  };
  std::istringstream text(contents(fs::path(job).replace_extension(".expect")));
  std::size_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    const auto comment = line.rfind(" # ");
    if (line.empty() || line.starts_with('#')) continue;
    const std::string words = line.substr(0, line.find_last_not_of(' ', comment) + 1);
    const auto space = words.find(' ');
    Line read{number, words.substr(0, space),
              space == std::string::npos ? "" : words.substr(space + 1)};
    if (read.word == "given") {
      read_given(read.rest, one);
      continue;
    }
    EXPECT_NE(comment, std::string::npos) << job << " line " << number << " cites no rule";
    one.expected.push_back(std::move(read));
  }
  return one;
}

Cluster cluster_of(const Case& one, const JobSpec& spec) {
  constexpr std::uint32_t kFirstPort = 21000;
  Cluster cluster;
  for (std::size_t i = 0; i < one.nodes; ++i) {
    Node node;
    node.name = "n" + std::to_string(i);
    node.address = "10.0.0." + std::to_string(i + 1);
    node.is_launcher = i == 0;
    constexpr int kCores = 16;
    for (int core = 0; core < kCores; ++core) node.facts.cores.push_back({0, {core}});
    for (std::size_t gpu = 0; gpu < one.gpus; ++gpu)
      node.facts.gpus.push_back({static_cast<int>(gpu), "GPU-" + std::to_string(gpu), "", "H100"});
    for (std::uint32_t port = 0; port < ports_wanted(spec); ++port)
      node.facts.reserved_ports.push_back(static_cast<std::uint16_t>(kFirstPort + port));
    cluster.nodes.push_back(std::move(node));
  }
  cluster.is_assumed = true;
  return cluster;
}

Result<LaunchPlan> plan_of(const Case& one, const JobSpec& spec) {
  PlanContext context;
  context.current_folder = kFolder;
  context.run_id = "run";
  context.run_folder = "/runs/run";
  return make_plan(spec, cluster_of(one, spec), context);
}

Environment environment_of(const LaunchPlan& plan, const RankPlan& rank) {
  Environment env = shared_environment(plan, rank.node);
  for (const auto& [name, value] : own_environment(rank)) env[name] = value;
  return env;
}

/// Checks one line about a job that was read successfully.
class Judge {
 public:
  Judge(const JobReading& job, const LaunchPlan& plan) : job_(job), plan_(plan) {}

  void check(const Line& line) {
    std::istringstream words(line.rest);
    const std::string& word = line.word;
    if (word == "ranks") {
      EXPECT_EQ(std::to_string(plan_.ranks.size()), line.rest);
    } else if (word == "nodes") {
      EXPECT_EQ(std::to_string(plan_.nodes.size()), line.rest);
    } else if (word == "framework") {
      EXPECT_EQ(name_of(job_.spec.framework), line.rest);
    } else if (word == "mpi-init") {
      EXPECT_EQ(job_.spec.mpi.init == Mpi::Init::optional ? "optional" : "required", line.rest);
    } else if (word == "launch") {
      EXPECT_EQ(name_of(job_.spec.launch), line.rest);
    } else if (word == "name") {
      EXPECT_EQ(job_.spec.name, line.rest);
    } else if (word == "workdir") {
      EXPECT_EQ(plan_.workdir, line.rest);
    } else if (word == "setup") {
      EXPECT_EQ(job_.spec.setup, line.rest);
    } else if (word == "limit") {
      ASSERT_TRUE(job_.spec.timeouts.run);
      EXPECT_EQ(std::to_string(job_.spec.timeouts.run->count() / 1000) + " s", line.rest);
    } else if (word == "image-workdir") {
      ASSERT_TRUE(job_.spec.container);
      EXPECT_EQ(job_.spec.container->workdir, line.rest);
    } else if (word == "shm-size") {
      ASSERT_TRUE(job_.spec.container);
      EXPECT_EQ(std::to_string(job_.spec.container->shm_bytes), line.rest);
    } else if (word == "success") {
      const char* const names[] = {"auto", "all", "chief", "workers"};
      EXPECT_EQ(names[static_cast<int>(job_.spec.success)], line.rest);
    } else if (word == "pass") {
      EXPECT_THAT(job_.spec.env_pass, testing::Contains(line.rest));
    } else if (word == "secret") {
      EXPECT_THAT(job_.spec.env_secret, testing::Contains(line.rest));
    } else if (word == "no-pass") {
      EXPECT_THAT(job_.spec.env_pass, testing::Not(testing::Contains(line.rest)));
    } else if (word == "note") {
      EXPECT_THAT(job_.notes, testing::Contains(testing::HasSubstr(line.rest)));
    } else if (word == "plan-note") {
      EXPECT_THAT(plan_.notes, testing::Contains(testing::HasSubstr(line.rest)));
    } else if (word == "notes") {
      EXPECT_EQ(std::to_string(job_.notes.size()), line.rest) << testing::PrintToString(job_.notes);
    } else if (word == "image") {
      check_image(line.rest);
    } else {
      check_rank(line, words);
    }
  }

 private:
  void check_image(const std::string& image) const {
    bool found = job_.spec.container && job_.spec.container->image == image;
    for (const RoleSpec& role : job_.spec.roles)
      found = found || (role.container && role.container->image == image);
    EXPECT_TRUE(found) << "no image " << image;
  }

  void check_rank(const Line& line, std::istringstream& words) {
    std::size_t number = 0;
    ASSERT_TRUE(words >> number) << "unknown: " << line.word;
    ASSERT_LT(number, plan_.ranks.size());
    const RankPlan& rank = plan_.ranks[number];
    std::string rest;
    std::getline(words >> std::ws, rest);
    if (line.word == "node") {
      EXPECT_EQ(std::to_string(rank.node.value), rest);
    } else if (line.word == "role") {
      EXPECT_EQ(rank.role + ' ' + std::to_string(rank.role_rank), rest);
    } else if (line.word == "command") {
      EXPECT_EQ(command_text(plan_.commands[rank.command]), rest);
    } else if (line.word == "program") {
      EXPECT_EQ(plan_.commands[rank.command].argv.front(), rest);
    } else if (line.word == "gpus") {
      std::string gpus;
      for (const std::string& gpu : rank.gpus) gpus += (gpus.empty() ? "" : ",") + gpu;
      EXPECT_EQ(gpus, rest);
    } else if (line.word == "env") {
      const auto space = rest.find(' ');
      const std::string name = rest.substr(0, space);
      const std::string value = space == std::string::npos ? "" : rest.substr(space + 1);
      const auto found = find_variable(environment_of(plan_, rank), name);
      ASSERT_TRUE(found) << name << " is not set";
      EXPECT_EQ(*found, value) << name;
    } else if (line.word == "unset") {
      EXPECT_FALSE(find_variable(environment_of(plan_, rank), rest)) << rest;
    } else {
      ADD_FAILURE() << "unknown: " << line.word;
    }
  }

  const JobReading& job_;
  const LaunchPlan& plan_;
};

/// "7:3 words": an error there that holds the words; "- words": one about the whole file.
void check_error(const std::string& file, const std::string& message, const std::string& expected) {
  const auto space = expected.find(' ');
  const std::string position = expected.substr(0, space);
  const std::string where = position == "-" ? "error: " : file + ':' + position + ": error: ";
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) {
    const bool is_there = position == "-" || line.starts_with(where);
    if (is_there && line.find(expected.substr(space + 1)) != std::string::npos) return;
  }
  ADD_FAILURE() << "no error " << expected << " in\n" << message;
}

std::size_t errors_in(const std::string& message) {
  constexpr std::string_view kMark = ": error: ";
  std::size_t count = 0;
  for (auto at = message.find(kMark); at != std::string::npos; at = message.find(kMark, at + 1))
    ++count;
  return count;
}

/// The plan of the file equals the plan of what `dlaunch convert` prints for it.
void check_conversion(const Case& one, const LaunchPlan& plan) {
  const auto text = native_job_text(one.input, "folder");
  ASSERT_TRUE(text) << text.error().message;
  Case native = one;
  native.input = JobInput{};
  native.input.text = *text;
  native.input.file = "job.yaml";
  const auto job = read_any_job(native.input);
  ASSERT_TRUE(job) << job.error().message << "\nin\n" << *text;
  EXPECT_THAT(job->notes, testing::IsEmpty());
  auto again = plan_of(native, job->spec);
  ASSERT_TRUE(again) << again.error().message << "\nin\n" << *text;
  if (plan.name.empty()) again->name.clear();  // the file's folder is not known here
  EXPECT_TRUE(*again == plan) << *text;
  const auto twice = native_job_text(native.input, "folder");
  ASSERT_TRUE(twice) << twice.error().message;
  const auto without_comments = [](const std::string& yaml) {
    std::string out;
    std::istringstream lines(yaml);
    for (std::string line; std::getline(lines, line);)
      if (!line.starts_with('#')) out += line + '\n';
    return out;
  };
  EXPECT_EQ(without_comments(*twice), without_comments(*text));
}

class ForeignJobs : public testing::TestWithParam<fs::path> {};

TEST_P(ForeignJobs, BecomeWhatTheirRulesSay) {
  const Case one = read_case(GetParam());
  ASSERT_FALSE(one.expected.empty()) << "nothing is expected of it";
  const auto job = read_any_job(one.input);
  const bool fails = one.expected.front().word == "error";
  if (fails || !job) {
    ASSERT_FALSE(job) << "it was read well";
    ASSERT_TRUE(fails) << job.error().message;
    EXPECT_EQ(job.error().exit_code, exit_code::kJobFile);
    for (const Line& line : one.expected) {
      if (line.word == "errors") {
        EXPECT_EQ(std::to_string(errors_in(job.error().message)), line.rest) << job.error().message;
        continue;
      }
      ASSERT_EQ(line.word, "error") << "line " << line.number;
      check_error(one.input.file, job.error().message, line.rest);
    }
    return;
  }
  const auto plan = plan_of(one, job->spec);
  const bool cannot_be_planned = one.expected.front().word == "misfit";
  if (cannot_be_planned || !plan) {
    ASSERT_TRUE(cannot_be_planned) << plan.error().message;
    ASSERT_FALSE(plan) << "it fits";
    EXPECT_THAT(plan.error().message, testing::HasSubstr(one.expected.front().rest));
    return;
  }
  Judge judge(*job, *plan);
  for (const Line& line : one.expected) {
    SCOPED_TRACE(one.input.file + " expectation, line " + std::to_string(line.number));
    judge.check(line);
  }
  check_conversion(one, *plan);
}

std::vector<fs::path> all_jobs() {
  std::vector<fs::path> jobs;
  for (const auto& entry : fs::directory_iterator(data_folder())) {
    const std::string extension = entry.path().extension();
    const bool is_job = extension == ".yaml" || extension == ".yml" || extension == ".json" ||
                        extension == ".runconfig" || extension == ".sbatch";
    if (is_job) jobs.push_back(entry.path());
  }
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

std::string name_of_case(const testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ForeignJobs, testing::ValuesIn(all_jobs()), name_of_case);

TEST(ForeignJobFiles, AreAtLeastForty) {
  EXPECT_GE(all_jobs().size(), 40U);
}

}  // namespace
}  // namespace dlaunch
