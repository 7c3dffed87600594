#include "report/evidence.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;
using namespace std::string_literals;

constexpr const char* kOutOfMemory =
    "Traceback (most recent call last):\n"
    "  File \"/home/me/train.py\", line 200, in <module>\n"
    "    main()\n"
    "  File \"/home/me/train.py\", line 118, in forward\n"
    "    x = self.block(x)\n"
    "        ^^^^^^^^^^^^^\n"
    "RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB\n";

// tqdm with two bars: the inner one goes up to draw the outer one again.
TEST(Evidence, OfProgressBarsOnlyTheLastStateIsKept) {
  const Evidence evidence = find_evidence(
      "loading\n\router 0%\n\rinner 0%\rinner 50%\x1b[A\router 50%\n\rinner 0%\x1b[1A\r"
      "outer 100%\n\rinner 100%\nValueError: bad\n\x1b[Aafter\n");
  EXPECT_EQ(evidence.last_lines, (std::vector<std::string>{"loading", "outer 100%", "inner 100%",
                                                           "ValueError: bad", "after"}));
}

TEST(Evidence, NothingSaidIsNothingKnown) {
  EXPECT_EQ(find_evidence(""), Evidence{});
  EXPECT_EQ(find_evidence("\n \n"), Evidence{});
}

TEST(Evidence, FindsExceptionAndInnermostFrame) {
  const Evidence evidence = find_evidence(kOutOfMemory);
  EXPECT_THAT(evidence.exception,
              Optional("RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB"s));
  EXPECT_THAT(evidence.where, Optional("train.py:118 in forward"s));
  EXPECT_THAT(evidence.last_lines, SizeIs(7));
}

TEST(Evidence, NoiseAfterTheTracebackDoesNotHideIt) {
  const Evidence evidence = find_evidence(std::string(kOutOfMemory) +
                                          "wandb: Synced 5 files\n"
                                          "[W socket.cpp:464] WARNING: something else\n"
                                          "ERROR: exiting\n");
  EXPECT_THAT(evidence.where, Optional("train.py:118 in forward"s));
  EXPECT_EQ(evidence.last_lines.back(), "ERROR: exiting");
}

TEST(Evidence, NoiseWithinTheTracebackIsPassedOver) {
  const Evidence evidence = find_evidence(
      "Traceback (most recent call last):\n"
      "  File \"a.py\", line 1, in f\n"
      "step 17: loss 0.4\n"
      "INFO: checkpoint written\n"
      "    g()\n"
      "ValueError: bad\n");
  EXPECT_THAT(evidence.exception, Optional("ValueError: bad"s));
}

TEST(Evidence, TheLastOfChainedExceptionsCounts) {
  const Evidence evidence = find_evidence(
      "Traceback (most recent call last):\n"
      "  File \"a.py\", line 1, in f\n"
      "KeyError: 'x'\n\n"
      "During handling of the above exception, another exception occurred:\n\n"
      "Traceback (most recent call last):\n"
      "  File \"a.py\", line 9, in g\n"
      "pkg.errors.ConfigError: no x\n");
  EXPECT_THAT(evidence.exception, Optional("pkg.errors.ConfigError: no x"s));
  EXPECT_THAT(evidence.where, Optional("a.py:9 in g"s));
}

TEST(Evidence, AnExceptionNeedNoMessage) {
  const Evidence evidence = find_evidence(
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyboardInterrupt\n");
  EXPECT_THAT(evidence.exception, Optional("KeyboardInterrupt"s));
}

TEST(Evidence, AnIntroductionIsJoinedWithWhatFollows) {
  const Evidence evidence = find_evidence(
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
      "RuntimeError: Error(s) in loading state_dict for Net:\n"
      "\tMissing key(s) in state_dict: \"fc.weight\".\n"
      "\tUnexpected key(s)\n");
  EXPECT_THAT(evidence.exception, Optional("RuntimeError: Error(s) in loading state_dict for Net: "
                                           "Missing key(s) in state_dict: \"fc.weight\"."s));
}

// PyTorch marks every line of an uncaught exception with the rank since 2.4.
TEST(Evidence, RankMarksAreNoPartOfTheText) {
  const Evidence evidence = find_evidence(
      "[rank3]: Traceback (most recent call last):\n"
      "[rank3]:   File \"/home/me/train.py\", line 5, in step\n"
      "[rank3]:     loss.backward()\n"
      "[rank3]: torch.distributed.DistBackendError: NCCL error\n"
      "[rank3]:[W1120 21:01:42 ProcessGroupNCCL.cpp:1250] Warning: destroy_process_group() was not "
      "called\n");
  EXPECT_THAT(evidence.exception, Optional("torch.distributed.DistBackendError: NCCL error"s));
  EXPECT_THAT(evidence.where, Optional("train.py:5 in step"s));
}

TEST(Evidence, TimesInFrontOfEveryLineAreTakenOff) {
  const Evidence evidence = find_evidence(
      "2026-11-20 21:01:42,101 ERROR Traceback (most recent call last):\n"
      "2026-11-20 21:01:42,102 ERROR   File \"a.py\", line 5, in f\n"
      "2026-11-20 21:01:42,103 ERROR     g()\n"
      "2026-11-20 21:01:42,104 ERROR OSError: [Errno 28] No space left on device\n");
  EXPECT_THAT(evidence.exception, Optional("OSError: [Errno 28] No space left on device"s));
  EXPECT_THAT(evidence.where, Optional("a.py:5 in f"s));
}

// torch.utils.data puts the worker's own traceback into the message.
TEST(Evidence, TheTracebackOfADataLoaderWorkerIsTheCause) {
  const Evidence evidence = find_evidence(
      "Traceback (most recent call last):\n"
      "  File \"/usr/lib/python3/dist-packages/torch/_utils.py\", line 644, in reraise\n"
      "    raise exception\n"
      "RuntimeError: Caught FileNotFoundError in DataLoader worker process 0.\n"
      "Original Traceback (most recent call last):\n"
      "  File \"/home/me/data.py\", line 31, in __getitem__\n"
      "    return open(path)\n"
      "FileNotFoundError: [Errno 2] No such file or directory: 'img/7.png'\n");
  EXPECT_THAT(evidence.exception,
              Optional("FileNotFoundError: [Errno 2] No such file or directory: 'img/7.png'"s));
  EXPECT_THAT(evidence.where, Optional("data.py:31 in __getitem__"s));
}

TEST(Evidence, AFrameInALibraryNamesItsCaller) {
  const Evidence evidence = find_evidence(
      "Traceback (most recent call last):\n"
      "  File \"/home/me/train.py\", line 118, in forward\n"
      "  File \"/home/me/venv/lib/python3.11/site-packages/torch/nn/functional.py\", line 2233, in "
      "embedding\n"
      "IndexError: index out of range in self\n");
  EXPECT_THAT(
      evidence.where,
      Optional("torch/nn/functional.py:2233 in embedding, called from train.py:118 in forward"s));
}

TEST(Evidence, AnIgnoredExceptionIsNotTheCause) {
  const std::string ignored =
      "Exception ignored in: <function A.__del__ at 0x7f>\n"
      "Traceback (most recent call last):\n  File \"a.py\", line 2, in __del__\nKeyError: 'del'\n";
  EXPECT_THAT(find_evidence(kOutOfMemory + ignored).where, Optional("train.py:118 in forward"s));
  EXPECT_THAT(find_evidence(ignored).exception, Optional("KeyError: 'del'"s))
      << "better than nothing";
}

TEST(Evidence, ACutTracebackDoesNotHideAWholeOne) {
  const Evidence evidence = find_evidence(std::string(kOutOfMemory) +
                                          "Traceback (most recent call last):\n"
                                          "  File \"b.py\", line 1, in f\n");
  EXPECT_THAT(evidence.where, Optional("train.py:118 in forward"s));
}

TEST(Evidence, ReadsAnExceptionOfCpp) {
  const Evidence evidence = find_evidence(
      "terminate called after throwing an instance of 'c10::Error'\n"
      "  what():  CUDA error: device-side assert triggered\n");
  EXPECT_THAT(evidence.exception,
              Optional("c10::Error: CUDA error: device-side assert triggered"s));
  EXPECT_EQ(evidence.where, std::nullopt);
}

TEST(Evidence, LinesAreCutAndHarmless) {
  const Evidence evidence =
      find_evidence("\x1b[31m" + std::string(5000, 'x') + "\n\r 1%\r 2%\n\n\n");
  EXPECT_THAT(evidence.last_lines, ElementsAre(std::string(3997, 'x') + "...", " 2%"));
}

TEST(Evidence, LinesBesideAnExceptionAreShort) {
  const Evidence evidence = find_evidence(std::string(500, 'x') +
                                          "\nTraceback (most recent call last):\n"
                                          "  File \"a.py\", line 1, in f\nValueError: y\n");
  EXPECT_EQ(evidence.exception, "ValueError: y");
  EXPECT_EQ(evidence.last_lines.front(), std::string(197, 'x') + "...");
}

TEST(Evidence, KeepsTheLastLinesOnly) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + "\n";
  const Evidence evidence = find_evidence(text);
  EXPECT_THAT(evidence.last_lines, SizeIs(40));
  EXPECT_EQ(evidence.last_lines.front(), "960");
}

class ReadTail : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "read-tail-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    file_ = folder_ + "/rank-0.err";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
  std::string file_;
};

TEST_F(ReadTail, ReadsASmallFileWhole) {
  std::ofstream(file_) << "one\ntwo";
  EXPECT_EQ(read_tail(file_, 100), "one\ntwo");
  EXPECT_EQ(read_tail(file_, 7), "one\ntwo");
}

TEST_F(ReadTail, BeginsWithAWholeLine) {
  std::ofstream(file_) << "one\ntwo\nthree\n";
  EXPECT_EQ(read_tail(file_, 12), "two\nthree\n");
  EXPECT_EQ(read_tail(file_, 10), "two\nthree\n");
  EXPECT_EQ(read_tail(file_, 9), "three\n");
  EXPECT_EQ(read_tail(file_, 3), "ee\n") << "a cut line is better than none";
}

TEST_F(ReadTail, WhatIsNoFileIsEmpty) {
  EXPECT_EQ(read_tail(file_, 100), "");
  EXPECT_EQ(read_tail(folder_, 100), "");
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(read_tail(file_, 100), "") << "and does not wait for a writer";
}

TEST(Evidence, TheCauseIsNotCut) {
  const std::string message = "RuntimeError: " + std::string(1000, 'x');
  const Evidence evidence = find_evidence(
      "Traceback (most recent call last):\n"
      "  File \"/w/train.py\", line 3, in f\n" +
      message + "\nmore\n");
  EXPECT_EQ(evidence.exception, message);
  ASSERT_EQ(evidence.last_lines.size(), 4U);
  EXPECT_EQ(evidence.last_lines[2], message);
  EXPECT_EQ(evidence.lines_after, 1U);
  EXPECT_EQ(evidence.source, (SourceLine{"/w/train.py", "3"}));
}

TEST(Evidence, TheSourceIsALineOfTheProgramItself) {
  const Evidence evidence = find_evidence(
      "Traceback (most recent call last):\n"
      "  File \"/w/train.py\", line 3, in f\n"
      "  File \"/usr/lib/python3/dist-packages/torch/nn/module.py\", line 9, in g\n"
      "ValueError: x\n");
  EXPECT_EQ(evidence.source, (SourceLine{"/w/train.py", "3"}));
}

// JAX 0.6 when another process of the job was killed.
TEST(Evidence, AFatalLogLine) {
  const Evidence evidence = find_evidence(
      "E0929 17:42:48.594192 1044529 coordination_service_agent.cc:332] Polled an error\n"
      "F0929 17:42:48.594200 1044529 client.h:77] Terminating process because the JAX distributed "
      "service detected fatal errors.\n"
      "    @ 0x7f0 (unknown)\n");
  EXPECT_EQ(evidence.exception,
            "Terminating process because the JAX distributed service detected fatal errors.");
  EXPECT_EQ(evidence.where, "client.h:77");
}

TEST(Evidence, WhatTheInterpreterSays) {
  for (const std::string text :
       {"/usr/bin/python3: can't open file '/w/trian.py': [Errno 2] No such file or directory",
        "/venv/bin/python: No module named trian",
        "python3.11: Error while finding module specification for 'a.b' (ModuleNotFoundError: No "
        "module named 'a')"}) {
    EXPECT_EQ(find_evidence(text + '\n').exception, text);
  }
  EXPECT_EQ(find_evidence("grep: x: No such file or directory\n").exception, std::nullopt);
}

// As torch.distributed.elastic.multiprocessing.errors.ErrorHandler.record_exception writes it.
constexpr const char* kRecorded =
    R"({"message": {"message": "ValueError: bad batch", "extraInfo": {"py_callstack":
"Traceback (most recent call last):\n  File \"/opt/torch/errors/__init__.py\", line 346, in wrapper\n    return f(*args)\n  File \"train.py\", line 12, in main\n    raise ValueError(\"bad batch\")\nValueError: bad batch\n", "timestamp": "1795228815"}}})";

TEST(ErrorFile, ExceptionAndPlaceComeFromTheCallStack) {
  const Evidence evidence = read_error_file(kRecorded);
  EXPECT_EQ(evidence.exception, "ValueError: bad batch");
  EXPECT_EQ(evidence.where, "train.py:12 in main");
  EXPECT_TRUE(evidence.last_lines.empty());
}

TEST(ErrorFile, AMessageAloneIsEnough) {
  EXPECT_EQ(read_error_file(R"({"message": "RuntimeError: boom"})").exception,
            "RuntimeError: boom");
  EXPECT_EQ(read_error_file(R"({"message": {"message": "RuntimeError: boom"}})").exception,
            "RuntimeError: boom");
}

TEST(ErrorFile, WhatIsNoErrorFileIsNoEvidence) {
  for (const char* text :
       {"", "{", "[]", "{}", "{\"message\": 3}", "{\"message\": {\"message\": []}}", "\xff\xfe"}) {
    EXPECT_EQ(read_error_file(text), Evidence{}) << text;
  }
  EXPECT_EQ(read_error_file(std::string(2 << 20, ' ')), Evidence{});
}

}  // namespace
}  // namespace dlaunch
