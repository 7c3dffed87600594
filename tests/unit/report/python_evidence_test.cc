// What the installed Python really prints, parsed by find_evidence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "report/evidence.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Optional;
using namespace std::string_literals;

constexpr const char* kPython = "/usr/bin/python3";

class PythonEvidence : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(kPython, X_OK) != 0) GTEST_SKIP() << kPython << " is not installed";
    std::string pattern = testing::TempDir() + "python-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  /// Runs `program` as train.py and reads its stderr.
  Evidence run(const std::string& program, const std::string& options = "") {
    std::ofstream(folder_ + "/train.py") << program;
    const std::string command = std::string("cd ") + folder_ + " && ulimit -c 0 && { " + kPython +
                                ' ' + options + " train.py; } 2>&1 >/dev/null";
    std::string said;
    FILE* out = ::popen(command.c_str(), "re");
    if (out == nullptr) return {};
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, out)) > 0;)
      said.append(buffer, n);
    ::pclose(out);
    return find_evidence(said);
  }
  std::string folder_;
};

TEST_F(PythonEvidence, Exception) {
  const Evidence evidence = run("def f():\n  raise ValueError('bad\\nthing')\nf()\n");
  EXPECT_THAT(evidence.exception, Optional("ValueError: bad"s));
  EXPECT_THAT(evidence.where, Optional("train.py:2 in f"s));
}

TEST_F(PythonEvidence, ChainWithALocalClass) {
  const Evidence evidence =
      run("def f():\n"
          "  class MyError(Exception): pass\n"
          "  raise MyError('second')\n"
          "try:\n"
          "  1/0\n"
          "except ZeroDivisionError:\n"
          "  f()\n");
  EXPECT_THAT(evidence.exception, Optional(HasSubstr("MyError: second")));
  EXPECT_THAT(evidence.where, Optional("train.py:3 in f"s));
}

TEST_F(PythonEvidence, SyntaxErrorHasNoTraceback) {
  const Evidence evidence = run("x = 1\ndef f(:\n");
  EXPECT_THAT(evidence.exception, Optional("SyntaxError: invalid syntax"s));
  EXPECT_THAT(evidence.where, Optional("train.py:2"s));
}

TEST_F(PythonEvidence, SyntaxErrorOfAnImport) {
  std::ofstream(folder_ + "/model.py") << "def f(:\n";
  const Evidence evidence = run("import model\n");
  EXPECT_THAT(evidence.exception, Optional("SyntaxError: invalid syntax"s));
  EXPECT_THAT(evidence.where, Optional("model.py:1"s));
}

TEST_F(PythonEvidence, DeepRecursion) {
  const Evidence evidence = run("def f(): f()\nf()\n");
  EXPECT_THAT(evidence.exception,
              Optional(HasSubstr("RecursionError: maximum recursion depth exceeded")));
  EXPECT_THAT(evidence.where, Optional("train.py:1 in f"s));
}

TEST_F(PythonEvidence, TheStandardLibraryNamesItsCaller) {
  const Evidence evidence = run("import json\ndef load():\n  json.loads('{')\nload()\n");
  EXPECT_THAT(evidence.exception,
              Optional(HasSubstr("json.decoder.JSONDecodeError: Expecting property name")));
  EXPECT_THAT(evidence.where, Optional(HasSubstr("json/decoder.py:")));
  EXPECT_THAT(evidence.where, Optional(HasSubstr(", called from train.py:3 in load")));
}

TEST_F(PythonEvidence, ExceptionGroup) {
  const Evidence evidence =
      run("import sys\n"
          "if sys.version_info < (3, 11):\n"
          "  raise TypeError('no groups')\n"
          "def f(): raise TypeError('two')\n"
          "try:\n"
          "  f()\n"
          "except TypeError as e:\n"
          "  inner = ExceptionGroup('inner', [e, ValueError('deep')])\n"
          "raise ExceptionGroup('outer', [inner, ValueError('one')])\n");
  if (evidence.exception == "TypeError: no groups")
    GTEST_SKIP() << "this Python has no exception groups";
  EXPECT_THAT(evidence.exception,
              Optional("ExceptionGroup: outer (2 sub-exceptions); the first: TypeError: two"s));
  EXPECT_THAT(evidence.where, Optional("train.py:4 in f"s));
}

TEST_F(PythonEvidence, FatalErrorOfFaulthandler) {
  const Evidence evidence = run("import os\ndef g():\n  os.abort()\ng()\n", "-X faulthandler");
  EXPECT_THAT(evidence.exception, Optional("Fatal Python error: Aborted"s));
  EXPECT_THAT(evidence.where, Optional("train.py:3 in g"s));
}

TEST_F(PythonEvidence, ExceptionInAThreadBeforeTheEnd) {
  const Evidence evidence =
      run("import threading\n"
          "def work(): raise KeyError('in thread')\n"
          "t = threading.Thread(target=work); t.start(); t.join()\n"
          "raise SystemExit('gave up')\n");
  EXPECT_THAT(evidence.exception, Optional("KeyError: 'in thread'"s));
  EXPECT_THAT(evidence.last_lines.back(), "gave up");
}

TEST_F(PythonEvidence, AWarningIsNoError) {
  const Evidence evidence = run("import warnings\nwarnings.warn('old')\nraise SystemExit(3)\n");
  EXPECT_EQ(evidence.exception, std::nullopt);
  EXPECT_THAT(evidence.last_lines, testing::Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace dlaunch
