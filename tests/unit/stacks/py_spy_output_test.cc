#include "node/stacks/py_spy_output.h"

#include <gtest/gtest.h>

#include "stack_builder.h"

namespace dlaunch {
namespace {

TEST(PySpyOutput, FramesGoToTheThreadsOfTheirNumbers) {
  ProcessStack process;
  process.pid = 7;
  process.threads = {
      {7, "", "S", "sleeping", {{StackFrame::Kind::kernel, "do_nanosleep", "", 0}}, 1},
      {9, "pt_data_worker", "S", "", {}, 1}};
  ASSERT_TRUE(add_py_spy_output(
      R"([{"os_thread_id": 9, "thread_name": "a long name of a thread",
           "frames": [{"name": "f", "filename": "a.py", "line": 3}]},
          {"os_thread_id": null, "thread_name": "MainThread",
           "frames": [{"name": "main", "filename": "a.py", "line": 9}]}])",
      process));
  ASSERT_EQ(process.threads.size(), 2U);
  ASSERT_EQ(process.threads[0].frames.size(), 2U);
  EXPECT_EQ(process.threads[0].frames[0].function, "do_nanosleep");
  EXPECT_EQ(process.threads[0].frames[1], python("main", "a.py", 9));
  EXPECT_EQ(process.threads[0].name, "");
  EXPECT_EQ(process.threads[1].frames[0], python("f", "a.py", 3));
  EXPECT_EQ(process.threads[1].name, "a long name of a thread");
}

TEST(PySpyOutput, NumbersOfAPidNamespaceAreTheNodesNumbersFirst) {
  ProcessStack process;
  process.pid = 4711;
  process.threads.resize(2);
  process.threads[0].id = 4711;
  process.threads[1].id = 4712;
  ASSERT_TRUE(add_py_spy_output(
      R"([{"pid":12,"thread_name":"MainThread","os_thread_id":12,"frames":[{"name":"main"}]},)"
      R"({"pid":12,"thread_name":"loader","os_thread_id":13,"frames":[{"name":"load"}]}])",
      process, {{12, 4711}, {13, 4712}}));
  ASSERT_EQ(process.threads.size(), 2U);
  EXPECT_EQ(process.threads[0].frames.front().function, "main");
  EXPECT_EQ(process.threads[1].frames.front().function, "load");
}

TEST(PySpyOutput, AThreadWithoutANumberIsAdded) {
  ProcessStack process;
  process.pid = 7;
  process.threads = {{7, "", "S", "", {}, 1}};
  ASSERT_TRUE(add_py_spy_output(
      R"([{"os_thread_id": null, "thread_name": "Thread-1", "frames": [{"name": "f"}]}])",
      process));
  ASSERT_EQ(process.threads.size(), 2U);
  EXPECT_EQ(process.threads[1].name, "Thread-1");
  EXPECT_EQ(process.threads[1].id, 0);
}

TEST(PySpyOutput, ARealOneIsReadWhole) {
  const ThreadStack thread = recorded_main_thread("torch-2.15-all_reduce.json");
  ASSERT_EQ(thread.frames.size(), 5U);
  EXPECT_EQ(thread.frames[0].function, "all_reduce");
  EXPECT_EQ(thread.frames[2], python("step", "/home/me/job/train.py", 9));
}

TEST(PySpyOutput, LinesOfItsLogComeBefore) {
  ProcessStack process;
  process.pid = 7;
  process.threads = {{7, "", "S", "", {}, 1}};
  ASSERT_TRUE(add_py_spy_output(
      "[2026-11-25T16:00:00Z WARN  py_spy] no symbols\n"
      R"([{"os_thread_id": 7, "frames": [{"name": "f", "filename": "a.py", "line": 3}]}])",
      process));
  EXPECT_EQ(process.threads[0].frames[0], python("f", "a.py", 3));
}

TEST(PySpyOutput, AnythingElseIsRefused) {
  ProcessStack process;
  for (const char* text : {"", "Error: Permission denied", "{}", "[1]", "[", "null"})
    EXPECT_FALSE(add_py_spy_output(text, process)) << text;
  EXPECT_TRUE(add_py_spy_output(
      R"([{"frames": 3}, {"frames": [{"name": 3, "filename": null, "line": -5}, 7]}])", process));
  ASSERT_EQ(process.threads.size(), 1U);
  EXPECT_EQ(process.threads[0].frames, std::vector{python("", "", 0)});
}

TEST(PySpyOutput, ADeepStackAndLongNamesAreCut) {
  std::string json = R"([{"frames": [)";
  for (int i = 0; i < 1000; ++i)
    json += std::string(i == 0 ? "" : ",") + R"({"name": ")" + std::string(1000, 'x') + R"("})";
  ProcessStack process;
  ASSERT_TRUE(add_py_spy_output(json + "]}]", process));
  EXPECT_EQ(process.threads[0].frames.size(), kMostStackFrames);
  EXPECT_EQ(process.threads[0].frames[0].function.size(), kMostStackText);
}

}  // namespace
}  // namespace dlaunch
