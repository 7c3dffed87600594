#include "launch/console/debug_log.h"

#include <gtest/gtest.h>

#include <string>

namespace dlaunch {
namespace {

class DiagnosticsTest : public testing::Test {
 protected:
  void SetUp() override {
    debug_log::set_output([this](std::string_view line) { seen_ += line; });
  }
  void TearDown() override {
    debug_log::set_verbosity(0);
    debug_log::set_output({});
  }
  static void say_all() {
    debug_log::debug("d {} %v");
    debug_log::info("i");
    debug_log::warn("w");
  }
  std::string seen_;
};

TEST_F(DiagnosticsTest, SaysNothingUnlessAsked) {
  say_all();
  EXPECT_EQ(seen_, "");
  EXPECT_FALSE(debug_log::wants_debug());
}

TEST_F(DiagnosticsTest, SaysMoreWhenAskedTwice) {
  debug_log::set_verbosity(1);
  say_all();
  EXPECT_EQ(seen_, "dlaunch[engine]: i\ndlaunch[engine]: w\n");
  seen_.clear();
  debug_log::set_verbosity(2, "agent");
  say_all();
  EXPECT_EQ(seen_, "dlaunch[agent]: d {} %v\ndlaunch[agent]: i\ndlaunch[agent]: w\n");
}

TEST_F(DiagnosticsTest, GoesToStderrByDefault) {
  debug_log::set_output({});
  debug_log::set_verbosity(1, "front");
  testing::internal::CaptureStderr();
  debug_log::info("hello");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "dlaunch[front]: hello\n");
}

}  // namespace
}  // namespace dlaunch
