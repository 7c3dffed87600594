#include "log/diagnostics.h"

#include <gtest/gtest.h>

#include <string>

namespace dlaunch {
namespace {

class DiagnosticsTest : public testing::Test {
 protected:
  void SetUp() override {
    diagnostics::set_output([this](std::string_view line) { seen_ += line; });
  }
  void TearDown() override {
    diagnostics::set_verbosity(0);
    diagnostics::set_output({});
  }
  static void say_all() {
    diagnostics::debug("d {} %v");
    diagnostics::info("i");
    diagnostics::warn("w");
  }
  std::string seen_;
};

TEST_F(DiagnosticsTest, SaysNothingUnlessAsked) {
  say_all();
  EXPECT_EQ(seen_, "");
  EXPECT_FALSE(diagnostics::wants_debug());
}

TEST_F(DiagnosticsTest, SaysMoreWhenAskedTwice) {
  diagnostics::set_verbosity(1);
  say_all();
  EXPECT_EQ(seen_, "dlaunch[engine]: i\ndlaunch[engine]: w\n");
  seen_.clear();
  diagnostics::set_verbosity(2, "agent");
  say_all();
  EXPECT_EQ(seen_, "dlaunch[agent]: d {} %v\ndlaunch[agent]: i\ndlaunch[agent]: w\n");
}

TEST_F(DiagnosticsTest, GoesToStderrByDefault) {
  diagnostics::set_output({});
  diagnostics::set_verbosity(1, "front");
  testing::internal::CaptureStderr();
  diagnostics::info("hello");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "dlaunch[front]: hello\n");
}

}  // namespace
}  // namespace dlaunch
