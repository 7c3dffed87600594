// The messages between an agent and the first process of a container; the entry folder of an
// attempt.
#include "node/containers/entry_protocol.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/containers/container_entry.h"
#include "node/containers/container_folder.h"
#include "os/packet.h"

namespace dlaunch {
namespace {

EntryOrder order() {
  EntryOrder order;
  order.argv = {"sh", "-c", "echo $RANK\n", ""};
  order.is_own_shell = true;
  order.has_pmi = order.has_terminal = true;
  order.workdir = "/home/me/a b";
  order.defaults = {{"OMP_NUM_THREADS", "4"}};
  order.variables = {{"KEY", "line\nline=2"}, {"EMPTY", ""}};
  order.cpus = {0, 2, 65535};
  order.open_files = 1024;
  order.open_files_hard = ~std::uint64_t{0};
  return order;
}

TEST(EntryProtocol, AnOrderComesBackAsItWas) {
  EXPECT_EQ(decode_order(encode(order())), order());
  EntryOrder least;
  least.argv = {"true"};
  EXPECT_EQ(decode_order(encode(least)), least);
}

TEST(EntryProtocol, ATruncatedOrLongerOrderIsNone) {
  const std::string text = encode(order());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(decode_order(text.substr(0, size))) << size;
  EXPECT_FALSE(decode_order(text + "x"));
  EXPECT_FALSE(decode_order(text + std::string(1, '\0')));
  EXPECT_FALSE(decode_order(encode(EntryOrder{}))) << "nothing to execute";
}

TEST(EntryProtocol, AnOrderForAProgramBesideTheRankNamesOne) {
  BesideOrder order;
  EXPECT_FALSE(decode_beside(encode(order))) << "nothing to execute";
  order.request.id = 7;
  order.request.argv = {"gdb", "-p", "{pid}"};
  order.defaults = {{"SHELL", "/bin/zsh"}};
  EXPECT_EQ(decode_beside(encode(order)), order);
  EXPECT_FALSE(decode_beside(encode(order).substr(1)));
}

TEST(EntryProtocol, ACountAloneTakesNoMemory) {
  std::string text = encode(order());
  const std::size_t list = text.find("\x84");  // CBOR, an array of four: argv
  ASSERT_NE(list, std::string::npos);
  text.replace(list, 1, "\x9a\x7f\xff\xff\xff");  // of 2^31 - 1
  EXPECT_FALSE(decode_order(text));
}

TEST(EntryProtocol, NewsAndDemandsSurvive) {
  const EntryNews all[] = {EntryArrived{Rank(1048575)},
                           EntryStarted{4194304},
                           StartFailure{StartFailure::Step::interpreter, ENOENT, "a b", "/bin"},
                           ExitStatus{true, 9, false},
                           ExitStatus{false, 255, false},
                           ExitStatus{true, 11, true},
                           BesideStarted{7, 4194304},
                           wire::TerminalEnded{7, "it was not found", {false, 127}}};
  for (const EntryNews& news : all) EXPECT_EQ(decode_news(encode(news)), news) << news.index();
  using Kind = EntryDemand::Kind;
  for (const EntryDemand& demand :
       {EntryDemand{}, EntryDemand{Kind::signal, 15}, EntryDemand{Kind::pass, 64},
        EntryDemand{Kind::kill, 0}, EntryDemand{Kind::beside}, EntryDemand{Kind::session, 1, 47}})
    EXPECT_EQ(decode_demand(encode(demand)), demand);
}

TEST(EntryProtocol, WhatIsOutOfRangeIsRefused) {
  EXPECT_FALSE(decode_demand(encode(EntryDemand{EntryDemand::Kind::signal, 65})));
  const EntryNews wrong[] = {EntryArrived{Rank(1048576)}, EntryStarted{0},
                             ExitStatus{false, 256, false}, ExitStatus{true, 65, false},
                             StartFailure{StartFailure::Step::execute, 5000, "a", "b"}};
  for (const EntryNews& news : wrong) EXPECT_FALSE(decode_news(encode(news))) << news.index();
  EXPECT_FALSE(decode_news(""));
  EXPECT_FALSE(decode_news("\x06"));
  EXPECT_FALSE(decode_news(encode(EntryNews(EntryStarted{1})).replace(0, 1, "\x09")));
}

// ch-run(1), "Setting variables with --set-env".
TEST(EntryProtocol, ReadsTheVariablesOfCharliecloudImages) {
  EXPECT_EQ(charliecloud_environment("FOO=bar\nBAZ='qux'\n\nBAD\n=x\nE=\nPATH=/opt/bin:/bin"),
            (Environment{{"FOO", "bar"}, {"BAZ", "qux"}, {"E", ""}, {"PATH", "/opt/bin:/bin"}}));
}

class EntryFolderTest : public testing::Test {
 protected:
  EntryFolderTest() { EXPECT_NE(::mkdtemp(base_), nullptr); }
  ~EntryFolderTest() override { std::filesystem::remove_all(base_); }
  [[nodiscard]] std::string folder() const {
    return std::string(base_) + "/dlaunch-enter-20261122-1-0";
  }
  [[nodiscard]] std::string said() const {
    std::ifstream file(std::string(base_) + "/said");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  char base_[32] = "/tmp/dlaunch-test-XXXXXX";
};

TEST_F(EntryFolderTest, IsOursAloneAndHoldsOurProgram) {
  auto made = make_entry_folder(folder());
  ASSERT_TRUE(made);
  struct stat about {};
  ASSERT_EQ(::stat(folder().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700U);
  EXPECT_EQ(::access((folder() + "/dlaunch").c_str(), X_OK), 0);
  EXPECT_EQ(make_entry_folder(folder()).error(), EEXIST) << "an existing folder is not used";
  remove_entry_folder(folder());
  EXPECT_NE(::access(folder().c_str(), F_OK), 0);
}

TEST_F(EntryFolderTest, WhatAnAgentHasLeftIsClearedWhenItIsGone) {
  const std::string out = std::string(base_) + "/said";
  const std::string program = std::string(base_) + "/podman";
  std::ofstream(program) << "#!/bin/sh\necho \"$*\" >>" << out << '\n';
  ASSERT_EQ(::chmod(program.c_str(), 0700), 0);
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", (std::string(base_) + ':' + path).c_str(), 1);
  {
    auto made = make_entry_folder(folder());
    ASSERT_TRUE(made);
    ASSERT_EQ(note_cleanup(folder(), {{"/x/podman", "rm", "dlaunch-old"}}), 0);
    ASSERT_EQ(note_cleanup(folder(), {{"/x/podman", "rm", "--force", "dlaunch-1", "dlaunch-2"},
                                      {"/x/podman", "rm", "--volumes", "dlaunch-3"},
                                      {"/bin/sh", "-c", "echo strange >>\"$0\"", out},
                                      {"/x/podman", "rm", "others"},
                                      {"/x/podman", "run", "dlaunch-4"}}),
              0);
    clear_abandoned_entry_folders(base_);
    EXPECT_EQ(said(), "") << "its agent lives";
  }
  clear_abandoned_entry_folders(base_);
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(said(), "rm --force dlaunch-1 dlaunch-2\nrm --volumes dlaunch-3\n");
  EXPECT_NE(::access(folder().c_str(), F_OK), 0);
}

TEST_F(EntryFolderTest, IsClearedByItsGuardianThoughAnotherAgentClearsIt) {
  auto made = make_entry_folder(folder());
  ASSERT_TRUE(made);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    made->lock.reset();
  });
  clear_entry_folder(folder(), UniqueFd());
  other.join();
  EXPECT_NE(::access(folder().c_str(), F_OK), 0);
}

TEST(EntryBase, IsAFolderThatProgramsMayBeExecutedFrom) {
  EXPECT_EQ(entry_base({}), "/tmp");
}

TEST(Packets, BringDescriptorsAndAnEnd) {
  char base[] = "/tmp/dlaunch-test-XXXXXX";
  ASSERT_NE(::mkdtemp(base), nullptr);
  const std::string path = std::string(base) + "/socket";
  const auto listener = listen_for_packets(path);
  ASSERT_TRUE(listener);
  auto client = connect_packets(path);
  ASSERT_TRUE(client);
  const UniqueFd server(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(server);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd read(ends[0]);
  UniqueFd write(ends[1]);
  ASSERT_TRUE(send_packet(server.get(), "two", {read.get(), write.get()}));
  ASSERT_TRUE(send_packet(server.get(), std::string(100, 'x')));
  std::vector<UniqueFd> came;
  EXPECT_EQ(receive_packet(client->get(), 64, 5, came, true), "two");
  EXPECT_EQ(came.size(), 2U);
  EXPECT_FALSE(receive_packet(client->get(), 64, 5, came, true));
  EXPECT_EQ(errno, EMSGSIZE);
  EXPECT_FALSE(receive_packet(client->get(), 64, 5, came, false));
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(connect_packets(std::string(200, 'x')).error(), ENAMETOOLONG);
  std::filesystem::remove_all(base);
}

}  // namespace
}  // namespace dlaunch
