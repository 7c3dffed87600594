#include "report/error_file.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

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
