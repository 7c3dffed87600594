#include "model/exit_status.h"

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(ExitStatus, CodeIsWhatAShellShows) {
  EXPECT_EQ((ExitStatus{false, 7, false}).code(), 7);
  EXPECT_EQ((ExitStatus{true, SIGKILL, false}).code(), 137);
  EXPECT_EQ(describe(ExitStatus{true, SIGSEGV, true}), "was killed by SIGSEGV (core dumped)");
  EXPECT_EQ(describe(ExitStatus{false, 7, false}), "exited with code 7");
}

TEST(ExitStatus, WhatMpiDemandsIsNoSuccess) {
  const ExitStatus aborted{false, 7, false, "", MpiEnd::aborted};
  EXPECT_EQ(aborted.code(), 7);
  EXPECT_EQ(describe(aborted), "called MPI_Abort and ended with code 7");
  const ExitStatus aborted_with_256{false, 0, false, "", MpiEnd::aborted};
  EXPECT_FALSE(aborted_with_256.ok());
  EXPECT_EQ(aborted_with_256.code(), 1);
  for (const MpiEnd end : {MpiEnd::never_connected, MpiEnd::not_finalized, MpiEnd::other_world}) {
    const ExitStatus status{false, 0, false, "", end};
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.code(), 65);
  }
  EXPECT_EQ(describe(ExitStatus{false, 0, false, "", MpiEnd::other_world, 1}),
            "exited from an MPI world of 1 rank");
}

TEST(StartFailure, NotFoundIs127AndTheRestIs126) {
  using Step = StartFailure::Step;
  EXPECT_EQ((StartFailure{Step::execute, ENOENT, "x", ""}).code(), 127);
  EXPECT_EQ((StartFailure{Step::execute, EACCES, "x", ""}).code(), 126);
  EXPECT_EQ((StartFailure{Step::execute, ENOEXEC, "x", ""}).code(), 126);
  EXPECT_EQ((StartFailure{Step::interpreter, ENOENT, "x", ""}).code(), 126);
  EXPECT_EQ((StartFailure{Step::workdir, ENOENT, "x", ""}).code(), 126);
  EXPECT_EQ(describe(StartFailure{Step::execute, ENOENT, "python3.12", ""}),
            "cannot execute \"python3.12\": No such file or directory");
}

TEST(StartFailure, LimitsOfTheUserAreNamedWithWhatToDo) {
  using Step = StartFailure::Step;
  EXPECT_EQ((StartFailure{Step::resources, EMFILE, "pipe", ""}).code(), 75);
  EXPECT_EQ((StartFailure{Step::resources, ENOMEM, "clone", ""}).code(), 70);
  EXPECT_EQ(describe(StartFailure{Step::resources, EMFILE, "pipe", ""}),
            "cannot start the process: pipe: Too many open files; raise the limit of open files "
            "(ulimit -n), or start fewer ranks");
  EXPECT_NE(describe(StartFailure{Step::resources, EAGAIN, "clone", ""}).find("ulimit -u"),
            std::string::npos);
  EXPECT_EQ(describe(StartFailure{Step::resources, ENOMEM, "clone", ""}),
            "cannot start the process: clone: Cannot allocate memory");
}

}  // namespace
}  // namespace dlaunch
