#include "sync/window.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dlaunch::sync {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMost = std::uint64_t{4} << 20;

/// A link that carries this many bytes per millisecond; what the window allows is sent at once.
std::uint64_t settle(std::uint64_t bytes_per_ms) {
  Window window(kMost, milliseconds(500));
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  for (int ms = 0; ms < 20'000; ++ms) {
    while (window.open()) {
      sent += window.piece();
      window.sent(window.piece(), milliseconds(ms));
    }
    taken = std::min(sent, taken + bytes_per_ms);
    window.taken(taken, milliseconds(ms));
  }
  return window.size();
}

TEST(Window, StaysSmallOnASlowLink) {
  EXPECT_EQ(settle(10), Window::kLeast);  // 10 KB/s
  EXPECT_LE(settle(125), 125U * 700);     // 1 Mbit/s: not much above half a second
}

TEST(Window, GrowsOnAFastOne) {
  EXPECT_EQ(settle(100'000), kMost);
}

TEST(Window, ClosesAndOpens) {
  Window window(Window::kFirst, milliseconds(500));
  EXPECT_TRUE(window.open());
  window.sent(Window::kFirst, milliseconds(0));
  EXPECT_FALSE(window.open());
  window.taken(1, milliseconds(1));
  EXPECT_TRUE(window.open());
}

TEST(Window, DoesNotBelieveMoreThanWasSent) {
  Window window(Window::kFirst, milliseconds(500));
  window.sent(100, milliseconds(0));
  window.taken(~std::uint64_t{0}, milliseconds(1));
  window.sent(Window::kFirst, milliseconds(1));
  EXPECT_FALSE(window.open());
  window.taken(5, milliseconds(2));  // never goes back
  EXPECT_FALSE(window.open());
}

}  // namespace
}  // namespace dlaunch::sync
