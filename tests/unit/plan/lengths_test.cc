#include "plan/lengths.h"

#include <gtest/gtest.h>

#include "fake_cluster.h"

namespace dlaunch::test {
namespace {

// execve(2): a single string may have 131072 bytes (32 pages of 4 KiB) with its final zero byte.
constexpr std::size_t kMost = 131071;

std::string error_of(const JobSpec& spec, PlanContext context = fake_context()) {
  const auto plan = make_plan(spec, fake_cluster({{}}), context);
  return plan ? "" : plan.error().message;
}

TEST(Lengths, OfArguments) {
  EXPECT_EQ(error_of(list_job({"train", std::string(kMost, 'x')})), "");
  EXPECT_EQ(error_of(list_job({"train", std::string(kMost + 1, 'x')})),
            "argument 1 of the command has 131072 bytes, and Linux allows at most 131071 in one "
            "argument; put it in a file");
  JobSpec spec = list_job({});
  spec.command.is_shell = true;
  spec.command.line = "train " + std::string(kMost, 'x');
  EXPECT_TRUE(error_of(spec).starts_with("the command has 1310")) << error_of(spec).substr(0, 100);
}

TEST(Lengths, OfVariables) {
  JobSpec spec = list_job();
  spec.env["A"] = std::string(kMost - 2, 'x');
  EXPECT_EQ(error_of(spec), "");
  spec.env["A"] += 'x';
  EXPECT_EQ(error_of(spec),
            "A has 131070 bytes, and Linux allows at most 131072 in one variable; "
            "put it in a file");
  spec = list_job();
  PlanContext context = fake_context();
  context.launcher_env = {{"PASSED", std::string(kMost, 'x')}};
  EXPECT_EQ(error_of(spec, context), "");
  spec.env_pass = {"PASS*"};
  EXPECT_TRUE(error_of(spec, context).starts_with("PASSED has 131071 bytes"));
}

TEST(Lengths, OfSecretsWithoutTellingThem) {
  JobSpec spec = list_job();
  PlanContext context = fake_context();
  context.launcher_env = {{"TOKEN", std::string(kMost, 's')}};
  spec.env_secret = {"TOKEN"};
  const std::string error = error_of(spec, context);
  EXPECT_TRUE(error.starts_with("TOKEN has 131071 bytes")) << error;
  EXPECT_EQ(error.find("sss"), std::string::npos);
}

TEST(Lengths, OfARolesVariables) {
  JobSpec spec = list_job();
  spec.framework = Framework::tensorflow;
  spec.roles = {role("chief", 1), role("worker", 1)};
  spec.roles[0].env["ROLE"] = std::string(kMost, 'x');
  EXPECT_TRUE(error_of(spec).starts_with("ROLE has 131071 bytes")) << error_of(spec);
}

}  // namespace
}  // namespace dlaunch::test
