#include "os/kernel_log.h"

#include <gmock/gmock.h>

#include <sstream>

namespace dlaunch {
namespace {

// What a process may read depends on the machine; in any case reading ends, and errors have a
// reason.
TEST(KernelLog, LinesWithTheWordOrAReason) {
  const auto log = read_kernel_log("e");
  if (!log) {
    EXPECT_THAT(log.error().message, testing::HasSubstr("/dev/kmsg"));
    GTEST_SKIP() << log.error().message;
  }
  EXPECT_LE(log->size(), 64U * 1024);
  std::istringstream lines(*log);
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, testing::HasSubstr("e"));
  EXPECT_EQ(read_kernel_log("no kernel has ever written this"), "");
}

}  // namespace
}  // namespace dlaunch
