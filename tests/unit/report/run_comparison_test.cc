#include "report/run_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

RunTexts first() {
  RunTexts run;
  run.id = "20261120-210142-k3f";
  run.state = "train, done in 10 s";
  run.job_yaml =
      "# run 20261120-210142-k3f, started 2026-11-20T21:01:42.000000Z on gpu01 (Linux) by dlaunch "
      "1.0\n"
      "# the same again: cd /x && dlaunch run runs/20261120-210142-k3f/job.yaml\n"
      "name: train\nenv: {LR: '0.1', SEED: 1}\ncommand: [python3, train.py]\n"
      "stage: [{from: a, to: /b}]\n";
  run.plan_json = R"({"framework": "pytorch", "variables": {"MASTER_PORT": "1", "A": "1",
      "WHERE": "/runs/20261120-210142-k3f"},
      "nodes": [{"name": "gpu01", "address": "10.0.0.1", "ranks": [0, 1], "binding": "bound"}],
      "ranks": [{"cpus": [0], "gpus": ["a"]}, {"cpus": [1], "gpus": ["b"]}]})";
  run.summary_json = R"({"elapsed_s": 10.0, "ledger": {"connect_s": 1.0, "productive_s": 9.0},
      "cause": "success", "exit_code": 0, "attempt": 0,
      "metrics": [{"name": "loss", "ranks": [{"rank": 0, "last": 0.5, "steady": 0.6}]}]})";
  return run;
}

/// `first()` with replaced texts, under another id.
RunTexts with(std::vector<std::pair<std::string, std::string>> replaced) {
  RunTexts run = first();
  replaced.emplace_back("20261120-210142-k3f", "20261121-000000-x07");
  for (std::string* text : {&run.id, &run.job_yaml, &run.plan_json, &run.summary_json}) {
    for (const auto& [from, to] : replaced) {
      for (auto at = text->find(from); at != std::string::npos;
           at = text->find(from, at + to.size()))
        text->replace(at, from.size(), to);
    }
  }
  return run;
}

std::vector<SectionComparison> compare(const RunTexts& one, const RunTexts& other) {
  const auto values = run_values(one);
  const auto others = run_values(other);
  EXPECT_TRUE(values && others);
  return compare_runs(*values, *others);
}

std::vector<std::string> differences(const RunTexts& other) {
  std::vector<std::string> lines;
  for (const SectionComparison& section : compare(first(), other)) {
    for (const RunDifference& one : section.differences)
      lines.push_back(section.name + ' ' + one.name + ": " + one.first.text + " | " +
                      one.second.text);
  }
  return lines;
}

TEST(RunComparison, TheSameJobDiffersInNothing) {
  EXPECT_THAT(differences(with({})), testing::IsEmpty());
  std::size_t equal = 0;
  for (const SectionComparison& section : compare(first(), with({}))) {
    EXPECT_GT(section.equal, 0U) << section.name;
    equal += section.equal;
  }
  EXPECT_GT(equal, 20U);
}

TEST(RunComparison, NamesWhatDiffers) {
  EXPECT_THAT(differences(with({{"LR: '0.1'", "LR: '0.2'"},
                                {"SEED: 1", "MORE: 2"},
                                {"train.py", "train.py, --fast"},
                                {"from: a", "from: c"},
                                {"by dlaunch 1.0", "by dlaunch 1.1"},
                                {"\"A\": \"1\"", "\"A\": \"2\""},
                                {"\"cause\": \"success\"", "\"cause\": \"hang\""},
                                {"\"last\": 0.5", "\"last\": 0.25"}})),
              testing::UnorderedElementsAre(
                  "job env.LR: 0.1 | 0.2", "job env.SEED: 1 | ", "job env.MORE:  | 2",
                  "job command: python3 train.py | python3 train.py --fast",
                  "job stage[0].from: a | c", "origin dlaunch: 1.0 | 1.1", "plan A: 1 | 2",
                  "outcome cause: success | hang", "metrics loss last: 0.5 | 0.25"));
}

TEST(RunComparison, SmallDifferencesOfTimeAreNone) {
  EXPECT_THAT(differences(with({{"\"elapsed_s\": 10.0", "\"elapsed_s\": 10.1"},
                                {"\"connect_s\": 1.0", "\"connect_s\": 1.04"},
                                {"\"productive_s\": 9.0", "\"productive_s\": 12.0"}})),
              testing::ElementsAre("timings productive: 9.0 s | 12.0 s"));
}

TEST(RunComparison, TheSameOfSeveralRanksIsOneLine) {
  EXPECT_THAT(
      differences(with({{"\"cpus\": [0]", "\"cpus\": [7]"}, {"\"cpus\": [1]", "\"cpus\": [7]"}})),
      testing::ElementsAre("plan rank 0 cpus: [0] | [7]", "plan rank 1 cpus: [1] | [7]"));
  EXPECT_THAT(differences(with({{"\"cpus\"", "\"other\""}, {"[1]", "[0]"}})),
              testing::ElementsAre("plan rank 0 cpus: [0] | ", "plan rank 1 cpus: [1] | "));
  RunTexts one = first();
  one.plan_json = R"({"ranks": [{"role": "a"}, {"role": "a"}, {"role": "a"}]})";
  RunTexts other = one;
  other.plan_json = R"({"ranks": [{"role": "b"}, {"role": "b"}, {"role": "b"}]})";
  const auto sections = compare(one, other);
  ASSERT_EQ(sections[2].differences.size(), 1U);
  EXPECT_EQ(sections[2].differences[0].name, "ranks 0-2 role");
}

TEST(RunComparison, ATextShowsDifferencesAndCountsTheRest) {
  const RunTexts other =
      with({{"LR: '0.1'", "LR: '0.2'"}, {"\"productive_s\": 9.0", "\"productive_s\": 18.0"}});
  const std::string text = comparison_text(first(), other, compare(first(), other), 80);
  EXPECT_THAT(text, HasSubstr("20261120-210142-k3f  train, done in 10 s\n20261121-000000-x07"));
  EXPECT_THAT(text, HasSubstr("\njob\n  env.LR  0.1 -> 0.2\n"));
  EXPECT_THAT(text, HasSubstr("productive  9.0 s -> 18.0 s (+100 %)\n"));
  EXPECT_THAT(text, Not(HasSubstr("\nplan\n")));
  EXPECT_THAT(text, HasSubstr("\nequal: job "));
}

TEST(RunComparison, TheJsonIsJson) {
  const RunTexts other = with({{"LR: '0.1'", "LR: '0.2'"}});
  const auto json = nlohmann::json::parse(comparison_json(first(), other, compare(first(), other)));
  EXPECT_EQ(json["first"], "20261120-210142-k3f");
  const auto& job = json["sections"][0];
  EXPECT_EQ(job["name"], "job");
  EXPECT_EQ(job["differences"][0]["name"], "env.LR");
  EXPECT_EQ(job["differences"][0]["second"], "0.2");
}

TEST(RunComparison, MissingFilesAreEmptyAndDamagedOnesAreErrors) {
  RunTexts none;
  none.id = "20261121-000000-x07";
  const auto values = run_values(none);
  ASSERT_TRUE(values);
  EXPECT_EQ(values->size(), 7U);
  RunTexts damaged = first();
  damaged.plan_json = "{";
  EXPECT_THAT(run_values(damaged).error().message, HasSubstr("plan.json"));
  damaged = first();
  damaged.job_yaml = "a: [";
  EXPECT_THAT(run_values(damaged).error().message, HasSubstr("job.yaml"));
  for (const char* odd :
       {R"({"ranks": 3, "nodes": {"a": 1}, "variables": []})", R"({"ranks": [1]})",
        R"({"nodes": [null, {"ranks": {"a": 1}}], "commands": [{"argv": 1}]})"}) {
    damaged = first();
    damaged.plan_json = odd;
    EXPECT_TRUE(run_values(damaged)) << odd;
  }
  for (const char* odd : {R"({"ledger": [1], "elapsed_s": "x", "metrics": [{"ranks": [3]}]})",
                          R"({"elapsed_s": 1e300, "metrics": [null], "cause": {}})"}) {
    damaged = first();
    damaged.summary_json = odd;
    EXPECT_TRUE(run_values(damaged)) << odd;
  }
}

}  // namespace
}  // namespace dlaunch
