#include "runs/job_record.h"

#include <gtest/gtest.h>

#include <chrono>

namespace dlaunch {
namespace {

JobRecord record() {
  JobRecord job;
  job.native = "name: a\ncommand: [python3, train.py]\nworkdir: /home/me\n";
  job.typed = "dlaunch run -n 2 -- python3 train.py";
  job.version = "1.2";
  return job;
}

RunOrigin origin() {
  RunOrigin run;
  run.run = "20261120-210142-k3f";
  run.started = WallTime(std::chrono::seconds(1795208502));
  run.host = "gpu01";
  run.kernel = "Linux 6.1 x86_64";
  run.folder = "/home/me/my project";
  run.shown_path = "runs/20261120-210142-k3f";
  return run;
}

TEST(JobRecord, SaysHowToRunItAgain) {
  EXPECT_EQ(job_record_text(record(), origin()),
            "# run 20261120-210142-k3f, started 2026-11-20T21:01:42.000000Z on gpu01 (Linux 6.1 "
            "x86_64) by dlaunch 1.2\n"
            "# typed in /home/me/my project: dlaunch run -n 2 -- python3 train.py\n"
            "# the same again: cd '/home/me/my project' && dlaunch run "
            "runs/20261120-210142-k3f/job.yaml\n"
            "name: a\ncommand: [python3, train.py]\nworkdir: /home/me\n");
}

TEST(JobRecord, SaysWhatDiffersFromTheCommit) {
  RunOrigin run = origin();
  run.git = {"0123abc", "main", std::nullopt};
  EXPECT_NE(job_record_text(record(), run).find("\n# git commit 0123abc (main)\n"),
            std::string::npos);
  run.git.changes = "";
  EXPECT_NE(job_record_text(record(), run).find("(main); no file differs from it\n"),
            std::string::npos);
  run.git.changes = " M train.py\n";
  EXPECT_NE(job_record_text(record(), run).find("; 1 file differs from it: train.py\n"),
            std::string::npos);
  run.git.changes = " M a\nA  b\n M c\n M d\n M e\n M f\n";
  EXPECT_NE(job_record_text(record(), run).find("; 6 files differ from it: a, b, c, d, e, ...\n"),
            std::string::npos);
}

TEST(JobRecord, KeepsTheFileAsComments) {
  JobRecord job = record();
  job.file = "a\nb.yaml";
  job.given = "# mine\r\n\ncommand: python3 train.py";
  job.typed = "dlaunch run 'a\nb.yaml'";
  const std::string text = job_record_text(job, origin());
  EXPECT_NE(text.find("\n# a?b.yaml as it was given:\n# # mine\n#\n# command: python3 train.py\n"),
            std::string::npos)
      << text;
  // Only the native job is read again.
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    EXPECT_TRUE(line.empty() || line.starts_with('#') || job.native.find(line) != std::string::npos)
        << line;
  }
}

TEST(JobRecord, NoFileHoldsACommandThatIsNotUtf8) {
  JobRecord job = record();
  job.native.clear();
  const std::string text = job_record_text(job, origin());
  EXPECT_NE(text.find("# the command is not UTF-8"), std::string::npos);
  EXPECT_EQ(text.find("the same again"), std::string::npos);
}

TEST(JobRecord, IsReadAgain) {
  JobRecord job = record();
  job.again = " --include 'a b' --smoke";
  job.file = "job.yaml";
  job.given = "# git commit 9999999\n";
  RunOrigin run = origin();
  run.git = {"0123abc", "main", " M train.py\n"};
  run.python_environment = "/home/me/venv with blank";
  const RecordedOrigin expected{
      "1.2", "gpu01", "/home/me/venv with blank", "0123abc", {"--include", "a b", "--smoke"}, true};
  EXPECT_EQ(parse_job_record(job_record_text(job, run)), expected);
}

TEST(JobRecord, OfAnythingElseNothingIsRead) {
  JobRecord job = record();
  job.native.clear();
  EXPECT_FALSE(parse_job_record(job_record_text(job, origin())).has_job);
  for (const char* text : {"", "# ", "# run ", "# run x on y", "# the same again: cd ", "name: a\n",
                           "# the same again: cd x && dlaunch run"})
    EXPECT_TRUE(parse_job_record(text).again.empty()) << text;
}

}  // namespace
}  // namespace dlaunch
