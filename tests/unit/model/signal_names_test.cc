#include "model/signal_names.h"

#include <csignal>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(SignalNames, BothWays) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(64), "signal 64");
  EXPECT_EQ(signal_number("TERM"), SIGTERM);
  EXPECT_EQ(signal_number("sigusr1"), SIGUSR1);
  EXPECT_EQ(signal_number("15"), std::nullopt);
  EXPECT_EQ(signal_number(""), std::nullopt);
}

}  // namespace
}  // namespace dlaunch
