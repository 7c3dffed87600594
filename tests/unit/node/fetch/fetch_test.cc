// dlaunch-fetch, the program as nodes get it, at the door of a node that has dlaunch. All of
// 127.0.0.0/8 is this machine.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "node/fetch/blake2b.h"
#include "node/fetch/fetch_image.h"
#include "node/fetch/fetch_order.h"
#include "node/reach/program_door.h"
#include "os/clock.h"
#include "os/memory_program.h"
#include "os/reach_socket.h"
#include "os/strong_hash.h"
#include "text/hex.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{20};
const std::string kTicket(32, 't');

StrongHash hash_of(std::string_view bytes) {
  StrongHasher hasher;
  hasher.add(bytes);
  return hasher.hash();
}

TEST(Blake2b, IsThatOfTheLauncher) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i * 7);
  for (const std::size_t size : {0, 1, 127, 128, 129, 255, 256, 257, 5000}) {
    const std::string text = bytes.substr(0, size);
    fetch::Blake2b hash;
    for (std::size_t at = 0; at < size; at += 100)  // in pieces
      hash.add(reinterpret_cast<const unsigned char*>(text.data()) + at,
               std::min<std::size_t>(100, size - at));
    const std::uint64_t* const found = hash.end();
    const StrongHash expected = hash_of(text);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found)) << size;
  }
}

TEST(ReachedAddress, IsThatOfSshdWhereOthersCanReachIt) {
  EXPECT_EQ(reached_address("10.0.0.9 51234 10.0.0.4 22"), "10.0.0.4");
  EXPECT_EQ(reached_address("fd00::9 51234 fd00::4 22"), "fd00::4");
  for (const char* none : {"", "UNKNOWN 65535 UNKNOWN 65535", "10.0.0.9 1 127.0.0.1 22",
                           "::1 1 ::1 22", "fe80::9%eth0 1 fe80::4%eth0 22", "10.0.0.9 1 10.0.0.4"})
    EXPECT_EQ(reached_address(none), "") << none;
}

class FetchTest : public testing::Test {
 protected:
  FetchTest() {
    for (int i = 0; i < 3'000'000; ++i) program_ += static_cast<char>(i * 7 + i / 4093);
    std::ofstream(path_, std::ios::binary) << program_;
  }
  void SetUp() override { served_ = door_.serve({1, kTicket, 20'000}); }
  ~FetchTest() override { fs::remove(path_); }
  fetch::Order order(const wire::ProgramServed& served) {
    fetch::Order order;
    const StrongHash hash = hash_of(program_);
    std::memcpy(order.hash, hash.data(), sizeof order.hash);
    order.size = program_.size();
    order.limit = 10;
    const std::string address = raw_address(served.at.front().address, served.at.front().port);
    order.address_size = static_cast<std::uint32_t>(address.size());
    std::memcpy(order.address, address.data(), address.size());
    std::memcpy(order.ticket, kTicket.data(), kTicket.size());
    return order;
  }
  struct Fetched {
    int code = -1;
    std::string bytes;
    std::string words;
  };
  /// What dlaunch-fetch does with this on its stdin, while the loop runs.
  Fetched fetch(const std::string& said) {
    const auto image = memory_program("dlaunch-fetch", fetch::image());
    EXPECT_TRUE(image && *image);
    std::string folder = (fs::temp_directory_path() / "dlaunch-fetch-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    std::ofstream(folder + "/in") << said;
    Fetched result;
    std::atomic<bool> ended = false;
    std::thread thread([&] {
      const std::string line =
          path_of(*image) + " <" + folder + "/in >" + folder + "/out 2>" + folder + "/err";
      result.code = ::system(line.c_str());
      ended = true;
    });
    EXPECT_TRUE(wait_for([&] { return ended.load(); }));
    thread.join();
    const auto read = [&](const char* name) {
      std::ifstream file(folder + name, std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
    result.bytes = read("/out");
    result.words = read("/err");
    fs::remove_all(folder);
    return result;
  }
  Fetched fetch(const fetch::Order& order) {
    return fetch(hex_digits({reinterpret_cast<const char*>(&order), sizeof order}) + "\n");
  }
  template <class Condition>
  bool wait_for(const Condition& condition) {
    const MonotonicTime end = monotonic_now() + kPatience;
    while (!condition() && monotonic_now() < end)
      loop_.run_one(monotonic_now() + std::chrono::milliseconds(20));
    return condition();
  }
  UniqueFd stranger(const std::string& says) {
    auto socket = begin_connect("127.0.0.2", served_.at.front().port);
    EXPECT_TRUE(socket);
    EXPECT_TRUE(wait_for([&] {
      return ::send(socket->get(), says.data(), says.size(), MSG_NOSIGNAL) ==
             static_cast<ssize_t>(says.size());
    }));
    return std::move(*socket);
  }
  /// What it reads until its connection ends.
  std::string last_words(const UniqueFd& socket) {
    std::string heard;
    bool ended = false;
    EXPECT_TRUE(wait_for([&] {
      std::array<char, 64> bytes;
      const ssize_t n = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (n > 0) heard.append(bytes.data(), static_cast<std::size_t>(n));
      ended = n == 0 || (n < 0 && errno != EAGAIN);
      return ended;
    }));
    return heard;
  }

  std::string program_;
  const std::string path_ = testing::TempDir() + "program-" + std::to_string(::getpid());
  EventLoop loop_;
  ProgramDoor door_{loop_, "127.0.0.2", path_};
  wire::ProgramServed served_;
};

TEST_F(FetchTest, ANodeGetsTheProgram) {
  ASSERT_EQ(served_.at.size(), 1U);
  const Fetched got = fetch(order(served_));
  EXPECT_EQ(got.code, 0) << got.words;
  EXPECT_TRUE(got.bytes == program_);
  EXPECT_FALSE(door_.listens());
}

TEST_F(FetchTest, ATicketOpensOnce) {
  (void)door_.serve({2, std::string(32, 'u'), 20'000});  // keeps it open
  EXPECT_EQ(fetch(order(served_)).code, 0);
  EXPECT_TRUE(door_.listens());
  const Fetched again = fetch(order(served_));
  EXPECT_NE(again.code, 0);
  EXPECT_EQ(again.bytes, "");
}

TEST_F(FetchTest, SeveralGuestsAtOnePort) {
  const std::string other(32, 'u');
  const auto second = door_.serve({2, other, 20'000});
  ASSERT_EQ(second.at, served_.at);
  fetch::Order theirs = order(second);
  std::memcpy(theirs.ticket, other.data(), other.size());
  EXPECT_EQ(fetch(theirs).code, 0);
  EXPECT_EQ(fetch(order(served_)).code, 0);
  EXPECT_FALSE(door_.listens());
}

TEST_F(FetchTest, AnotherProgramThanTheLaunchersIsRefused) {
  fetch::Order wrong = order(served_);
  wrong.hash[0] ^= 1;
  const Fetched got = fetch(wrong);
  EXPECT_NE(got.code, 0);
  EXPECT_EQ(got.words, "the data received is not the launcher's program\n");
}

TEST_F(FetchTest, ALargerOneThanWasSent) {
  fetch::Order wrong = order(served_);
  ++wrong.size;
  EXPECT_EQ(fetch(wrong).words, "the connection ended too early\n");
}

TEST_F(FetchTest, NobodyListensThere) {
  const fetch::Order right = order(served_);
  door_.close();
  EXPECT_EQ(fetch(right).words, "no connection (errno 111)\n");
}

TEST_F(FetchTest, OneThatAcceptsAndSaysNothing) {
  const auto silent = listen_at("127.0.0.3");
  fetch::Order late = order({1, {{"127.0.0.3", local_port_of(silent->get())}}});
  late.limit = 1;
  const Fetched got = fetch(late);
  EXPECT_NE(got.code, 0);
  EXPECT_EQ(got.bytes, "");
}

TEST_F(FetchTest, NonsenseAsAnOrder) {
  EXPECT_EQ(fetch("").words, "no order\n");
  EXPECT_EQ(fetch(std::string(2 * sizeof(fetch::Order), 'x')).words, "a malformed order\n");
  fetch::Order wrong = order(served_);
  wrong.address_size = 4000;
  EXPECT_EQ(fetch(wrong).words, "an address that is too long\n");
}

TEST_F(FetchTest, StrangersGetNoByte) {
  EXPECT_EQ(last_words(stranger(std::string(32, 'x'))), "");
  EXPECT_EQ(last_words(stranger("GET / HTTP/1.1\r\nHost: 127.0.0.2\r\n\r\n")), "");
  EXPECT_EQ(fetch(order(served_)).code, 0);
}

TEST_F(FetchTest, SilentStrangersPushEachOtherOut) {
  std::vector<UniqueFd> silent;
  for (std::size_t i = 0; i <= ProgramDoor::kMostGuests; ++i) silent.push_back(stranger("x"));
  EXPECT_EQ(last_words(silent.front()), "");
  EXPECT_EQ(fetch(order(served_)).code, 0);
}

TEST_F(FetchTest, ATicketHasItsTime) {
  ProgramDoor door(loop_, "127.0.0.2");
  ASSERT_EQ(door.serve({1, kTicket, 100}).at.size(), 1U);
  EXPECT_TRUE(wait_for([&] { return !door.listens(); }));
}

TEST_F(FetchTest, ANodeThatCannotListenSaysSo) {
  ProgramDoor none(loop_, "");
  EXPECT_TRUE(none.serve({3, kTicket, 20'000}).at.empty());
  ProgramDoor elsewhere(loop_, "203.0.113.1");
  EXPECT_TRUE(elsewhere.serve({4, kTicket, 20'000}).at.empty());
  EXPECT_TRUE(door_.serve({5, "short", 20'000}).at.empty());
}

}  // namespace
}  // namespace dlaunch
