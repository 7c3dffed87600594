#include "node/stacks/native_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stack_builder.h"

namespace dlaunch {
namespace {

StackFrame native(std::string function, std::string file = "/lib/x.so") {
  return {StackFrame::Kind::native, std::move(function), std::move(file), 0};
}

std::vector<std::string> functions(const ThreadStack& thread) {
  std::vector<std::string> names;
  for (const StackFrame& frame : thread.frames) names.push_back(frame.function);
  return names;
}

TEST(NativeFrames, NamesAsPeopleWriteThem) {
  EXPECT_EQ(function_name("PMPI_Recv"), "PMPI_Recv");
  EXPECT_EQ(function_name("__libc_start_main@@GLIBC_2.34"), "__libc_start_main");
  EXPECT_EQ(function_name("__solver_MOD_exchange"), "solver::exchange");
  EXPECT_EQ(function_name("_ZN7dlaunch4Step3runEi"), "dlaunch::Step::run");
  EXPECT_EQ(function_name("_ZNK7dlaunch4Step3runEi"), "dlaunch::Step::run");
  EXPECT_EQ(function_name("_ZN6solver12_GLOBAL__N_14stepEi"),
            "solver::(anonymous namespace)::step");
  // int twice<int>(int); std::vector<double>::operator[](unsigned long)
  EXPECT_EQ(function_name("_Z5twiceIiET_S0_"), "twice<int>");
  EXPECT_EQ(function_name("_ZNSt6vectorIdSaIdEEixEm"),
            "std::vector<double, std::allocator<double> >::operator[]");
  // main::{lambda(int)#1}::operator()(int) const; the part that a compiler has split off
  EXPECT_EQ(function_name("_ZZ4mainENKUliE_clEi"), "main::{lambda#1}::operator()");
  EXPECT_EQ(function_name("_ZN7dlaunch4Step3runEi.cold"), "dlaunch::Step::run");
  EXPECT_EQ(function_name("_Znonsense"), "_Znonsense");
}

TEST(NativeFrames, AboveThoseOfPythonUpToTheInterpreter) {
  ThreadStack thread;
  thread.frames = {{StackFrame::Kind::kernel, "pipe_read", "", 0}, python("load", "a.py", 3)};
  add_native_frames({native("read"), native("os_read"), native("_PyEval_EvalFrameDefault"),
                     native("PyEval_EvalCode"), native("main"), native("_start")},
                    thread);
  EXPECT_THAT(functions(thread), testing::ElementsAre("pipe_read", "read", "os_read", "load"));
}

TEST(NativeFrames, WithoutThoseOfPythonAllUpToMain) {
  ThreadStack thread;
  add_native_frames({native("read"), native(""), native(""), native("", "/lib/y.so"),
                     native("main"), native("__libc_start_call_main"), native("")},
                    thread);
  EXPECT_THAT(functions(thread), testing::ElementsAre("read", "", "", "main"));
}

TEST(NativeFrames, WithoutThoseBeforeMainOfACLibraryWithoutNames) {
  constexpr const char* kLibc = "/lib/x86_64-linux-gnu/libc.so.6";
  ThreadStack thread;
  add_native_frames({native("read", kLibc), native("main"), native("", kLibc),
                     native("__libc_start_main", kLibc), native("_start")},
                    thread);
  ThreadStack other;
  add_native_frames({native("", kLibc), native("work"), native("", kLibc), native("", kLibc)},
                    other);
  ThreadStack odd;
  add_native_frames({native("", kLibc), native("", kLibc)}, odd);
  EXPECT_THAT(functions(thread), testing::ElementsAre("read", "main"));
  EXPECT_THAT(functions(other), testing::ElementsAre("", "work"));
  EXPECT_THAT(functions(odd), testing::ElementsAre(""));
}

}  // namespace
}  // namespace dlaunch
