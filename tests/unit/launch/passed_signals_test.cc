#include "launch/passed_signals.h"

#include <csignal>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

MonotonicTime at(int seconds) {
  return std::chrono::seconds(seconds);
}

/// A busy machine: slurmd of one node is half a minute behind the other.
TEST(PassedSignals, OnceForAllNodes) {
  PassedSignals signals;
  EXPECT_TRUE(signals.came_from_node(0, SIGUSR1, at(100)));
  EXPECT_FALSE(signals.came_from_node(0, SIGUSR1, at(101))) << "its guardian";
  EXPECT_FALSE(signals.came_from_node(1, SIGUSR1, at(130)));
  EXPECT_TRUE(signals.came_from_node(1, SIGUSR2, at(130)));
}

TEST(PassedSignals, ASecondOneIsPassedAgain) {
  PassedSignals signals;
  EXPECT_TRUE(signals.came_from_node(0, SIGUSR1, at(100)));
  EXPECT_FALSE(signals.came_from_node(1, SIGUSR1, at(100)));
  EXPECT_TRUE(signals.came_from_node(1, SIGUSR1, at(200)));
  EXPECT_FALSE(signals.came_from_node(0, SIGUSR1, at(230)));
  // A node that was absent for the first two.
  EXPECT_FALSE(signals.came_from_node(2, SIGUSR1, at(231)));
  EXPECT_TRUE(signals.came_from_node(0, SIGUSR1, at(300)));
}

TEST(PassedSignals, WhatTheFrontHasGotTooIsTheSame) {
  PassedSignals signals;
  signals.came_to_front(SIGUSR1, at(100));
  EXPECT_FALSE(signals.came_from_node(0, SIGUSR1, at(101)));
  EXPECT_FALSE(signals.came_from_node(1, SIGUSR1, at(110))) << "the node before has told it";
  EXPECT_TRUE(signals.came_from_node(1, SIGUSR1, at(150)));
}

}  // namespace
}  // namespace dlaunch
