// Two ends of a connection between nodes, over real sockets: all of 127.0.0.0/8 is this machine.
#include "node/stage/stage_door.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "node/stage/stage_files.h"
#include "node/stage/stage_uplink.h"
#include "os/clock.h"
#include "os/content_hash.h"
#include "os/reach_socket.h"
#include "sync/blocks.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{20};
constexpr std::uint64_t kBlocks = 40;
constexpr std::size_t kFlood = 1000;

StageKey key_of(char c) {
  return {std::string(32, c), std::string(32, static_cast<char>(c + 1)),
          std::string(32, static_cast<char>(c + 2))};
}

class StageDoorTest : public testing::Test {
 protected:
  StageDoorTest() {
    std::string name = (fs::temp_directory_path() / "dlaunch-door-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    files_.open({folder_}, {}, {});
    files_.add({{0, {"a", SyncEntry::Kind::file, 0640, kBlocks * sync::kBlockBytes, 1, ""}}});
    std::vector<StageWant> wants;
    while (!files_.look_some(wants)) {
    }
    files_.add({{0, kBlocks}}, {});
    while (!files_.make_some()) {
    }
  }
  ~StageDoorTest() override { fs::remove_all(folder_); }

  static std::string block(std::uint64_t number) {
    return std::string(sync::kBlockBytes, static_cast<char>('a' + number % 26));
  }
  void write_until(std::uint64_t position) {
    for (std::uint64_t i = files_.position(); i < position; ++i) {
      files_.take({{i, block_hash(block(i)), block(i)}});
      while (files_.write_some()) {
      }
    }
  }
  void open(std::uint32_t limit_ms = 20000) {
    door_.emplace(loop_, blocks_of(files_),
                  wire::StageServe{1, 1, key_of('A'), {"127.0.0.2", "127.0.0.3"}, limit_ms});
    ASSERT_EQ(door_->addresses().size(), 2U);
  }
  /// What a node gets that goes on from `position`.
  struct Guest {
    bool connected = false;
    std::vector<std::uint64_t> blocks;
    std::string ended;
    std::unique_ptr<StageUplink> uplink;
  };
  std::unique_ptr<Guest> guest(const StageKey& key, std::uint64_t position) {
    auto one = std::make_unique<Guest>();
    const wire::StageFeed order{1, 1, key, door_->addresses(), 5000};
    one->uplink = std::make_unique<StageUplink>(
        loop_, order, position,
        StageUplink::Callbacks{
            .connected = [g = one.get()] { g->connected = true; },
            .pieces =
                [g = one.get()](const std::vector<sync::Piece>& pieces) {
                  for (const sync::Piece& piece : pieces) {
                    EXPECT_EQ(piece.bytes, block(piece.block));
                    g->blocks.push_back(piece.block);
                  }
                },
            .ended = [g = one.get()](std::string why) { g->ended = std::move(why); },
            .has_room = [] { return true; }});
    return one;
  }
  template <class Condition>
  bool wait_for(const Condition& condition) {
    const MonotonicTime end = monotonic_now() + kPatience;
    while (!condition() && monotonic_now() < end) loop_.run_one(end);
    return condition();
  }
  /// A connection to the door; from 127.0.0.1 as a node's, unless it says otherwise.
  UniqueFd stranger(const std::string& says, const std::string& from = "") {
    const std::uint16_t port = door_->addresses().front().port;
    auto socket = from.empty() ? begin_connect("127.0.0.2", port) : connect_from(from, port);
    EXPECT_TRUE(socket);
    if (!socket) return {};
    bool said = false;
    EXPECT_TRUE(wait_for([&] {
      loop_.poll();
      said = said || ::send(socket->get(), says.data(), says.size(), MSG_NOSIGNAL) ==
                         static_cast<ssize_t>(says.size());
      return said;
    }));
    return std::move(*socket);
  }
  static tl::expected<UniqueFd, int> connect_from(const std::string& from, std::uint16_t port) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const std::string own = raw_address(from, 0);
    const std::string other = raw_address("127.0.0.2", port);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(own.data()),
               static_cast<socklen_t>(own.size())) != 0)
      return tl::unexpected(errno);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(other.data()),
                  static_cast<socklen_t>(other.size())) != 0 &&
        errno != EINPROGRESS)
      return tl::unexpected(errno);
    return socket;
  }
  static void allow_descriptors(rlim_t count) {
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur >= count) return;
    limit.rlim_cur = std::min(count, limit.rlim_max);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  static std::size_t descriptors() {
    const fs::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  /// What it reads until its connection ends.
  std::string last_words(const UniqueFd& socket) {
    std::string heard;
    bool ended = false;
    wait_for([&] {
      loop_.poll();
      std::array<char, 64> bytes;
      const ssize_t n = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (n > 0) heard.append(bytes.data(), static_cast<std::size_t>(n));
      ended = n == 0 || (n < 0 && errno != EAGAIN);
      return ended;
    });
    EXPECT_TRUE(ended);
    return heard;
  }

  std::string folder_;
  EventLoop loop_;
  StageFiles files_;
  std::optional<StageDoor> door_;
};

TEST_F(StageDoorTest, SendsWhatIsThereAndWhatComes) {
  write_until(10);
  open();
  const auto node = guest(key_of('A'), 3);
  EXPECT_TRUE(wait_for([&] { return node->blocks.size() == 7; }));
  write_until(kBlocks);
  door_->send_more();
  EXPECT_TRUE(wait_for([&] { return node->blocks.size() == kBlocks - 3; }));
  for (std::uint64_t i = 0; i < node->blocks.size(); ++i) EXPECT_EQ(node->blocks[i], i + 3);
  node->uplink.reset();
  EXPECT_TRUE(wait_for([&] { return door_->is_over(); }));
}

TEST_F(StageDoorTest, StrangersGetNoByte) {
  write_until(kBlocks);
  open();
  const std::string greeting = stage_greeting(key_of('A'), 0);
  std::string other_key = stage_greeting(key_of('Q'), 0);
  std::string with_ticket = key_of('A').ticket + other_key.substr(32);
  for (const std::string& says : {std::string(kGreetingBytes, 'x'),
                                  std::string("GET / HTTP/1.1\r\n\r\n") + std::string(99, '\n'),
                                  other_key, with_ticket, std::string(1000, '\0')}) {
    EXPECT_EQ(last_words(stranger(says)), "");
  }
  EXPECT_TRUE(door_->listens()) << "the key is not used up by a wrong greeting";
  const auto node = guest(key_of('A'), 0);
  EXPECT_TRUE(wait_for([&] { return node->blocks.size() == kBlocks; }));
  EXPECT_FALSE(door_->listens()) << "it hears one";
}

TEST_F(StageDoorTest, AGreetingThatWasOverheardOpensNothingTwice) {
  write_until(kBlocks);
  open();
  const std::string greeting = stage_greeting(key_of('A'), 0);
  const UniqueFd first = stranger(greeting);
  EXPECT_TRUE(wait_for([&] { return !door_->listens(); }));
  const auto again = begin_connect("127.0.0.2", door_->addresses().front().port);
  EXPECT_TRUE(!again || wait_for([&] {
    loop_.poll();
    return connect_error(again->get()) != 0 ||
           ::send(again->get(), greeting.data(), greeting.size(), MSG_NOSIGNAL) < 0;
  }));
}

TEST_F(StageDoorTest, AFloodOfSilentGuestsCostsLittleAndPushesOutNoNode) {
  allow_descriptors(2 * kFlood);
  write_until(kBlocks);
  open();
  const std::string greeting = stage_greeting(key_of('A'), 0);
  const UniqueFd node = stranger(greeting.substr(0, 40));  // the rest is late
  const std::size_t before = descriptors();
  std::vector<UniqueFd> silent;
  for (std::size_t i = 0; i < kFlood; ++i) silent.push_back(stranger("half", "127.0.0.9"));
  EXPECT_EQ(last_words(silent.front()), "") << "the oldest one";
  EXPECT_LE(descriptors() - before, kFlood + StageDoor::kMostGuests);
  const std::string rest = greeting.substr(40);
  ASSERT_EQ(::send(node.get(), rest.data(), rest.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(rest.size()));
  EXPECT_TRUE(wait_for([&] { return !door_->listens(); })) << "the node was pushed out";
  EXPECT_FALSE(door_->is_over());
  EXPECT_EQ(last_words(silent.back()), "") << "nobody stays when the node is there";
}

TEST_F(StageDoorTest, OneGuestEachFromManyAddresses) {
  constexpr int kAddresses = 70;
  write_until(kBlocks);
  open();
  std::vector<UniqueFd> silent;
  for (int i = 0; i < kAddresses; ++i)
    silent.push_back(stranger("half", "127.0.0." + std::to_string(10 + i)));
  EXPECT_EQ(last_words(silent.front()), "") << "the oldest one";
  const UniqueFd node = stranger(stage_greeting(key_of('A'), 0));
  EXPECT_TRUE(wait_for([&] { return !door_->listens(); })) << "the node was pushed out";
}

TEST_F(StageDoorTest, SilentGuestsOfTheNodesOwnMachinePushEachOtherOut) {
  write_until(kBlocks);
  open();
  std::vector<UniqueFd> silent;
  for (std::size_t i = 0; i < 3 * StageDoor::kMostGuests; ++i) silent.push_back(stranger("half"));
  EXPECT_EQ(last_words(silent.front()), "") << "the oldest one";
  const auto node = guest(key_of('A'), 0);
  EXPECT_TRUE(wait_for([&] { return node->blocks.size() == kBlocks; }));
}

TEST_F(StageDoorTest, ClosesWhenNobodyComes) {
  open(1);
  EXPECT_TRUE(wait_for([&] { return door_->is_over(); }));
}

TEST_F(StageDoorTest, AWrongKeyAndNobodyAreTold) {
  open();
  const auto node = guest(key_of('Q'), 0);
  EXPECT_TRUE(wait_for([&] { return !node->ended.empty(); }));
  EXPECT_FALSE(node->connected);
  door_->close();
  const auto late = guest(key_of('A'), 0);
  EXPECT_TRUE(wait_for([&] { return !late->ended.empty(); }));
  EXPECT_THAT(late->ended, testing::HasSubstr("127.0.0."));
}

}  // namespace
}  // namespace dlaunch
