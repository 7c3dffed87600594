// Runs the unchanged scripts in the shells of this machine, with a stand-in for the binary.
#include "launch/connect/remote_script.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t kSession = 0xabcULL;
constexpr std::uint64_t kSize = 12345;
constexpr const char* kMark = "@dlaunch:0000000000000abc ";

struct Answer {
  std::string out;
  int code = 0;
};

class RemoteScript : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "dlaunch-script-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    home_ = name;
    // A new one for each test: the script also looks into the other places.
    build_ = "feed" + std::to_string(::getpid());
    binary_ = "#!/bin/sh\nif [ \"$2\" = --probe ]; then echo " + build_ +
              "; else echo ran \"$@\"; umask; cat; fi\n";  // with the rest of its stdin
  }
  void TearDown() override { fs::remove_all(home_); }

  /// As sshd does it: the command is one argument of the login shell.
  Answer run(const std::string& command, const std::string& input = "",
             const std::string& shell = "/bin/sh", const std::string& before = "") const {
    const std::string in = home_ + "/input." + std::to_string(::gettid());
    const std::string script = home_ + "/command." + std::to_string(::gettid());
    std::ofstream(in) << input;
    std::ofstream(script) << command;
    const std::string line = "umask 022; HOME='" + home_ +
                             "'; export HOME; unset XDG_CACHE_HOME; " + before + " " + shell +
                             " -c \"$(cat '" + script + "')\" < '" + in + "' 2>&1";
    Answer answer;
    FILE* pipe = ::popen(line.c_str(), "r");
    char bytes[4096];
    for (std::size_t n = 0; (n = ::fread(bytes, 1, sizeof bytes, pipe)) > 0;)
      answer.out.append(bytes, n);
    answer.code = WEXITSTATUS(::pclose(pipe));
    return answer;
  }
  [[nodiscard]] RemoteAgent agent(std::uint64_t size) const {
    return {build_, size, kSession, 7, Purpose::fresh, false};
  }
  [[nodiscard]] std::string agent() const { return agent_script(agent(kSize)); }
  /// The node's answer when `binary` is staged there, after "missing ..."; `sent`: how much
  /// arrives.
  Answer stage(const std::string& binary, std::size_t sent = std::string::npos,
               const std::string& shell = "/bin/sh", const std::string& before = "") const {
    const RemoteAgent its = agent(binary.size());
    Answer answer =
        run(before + agent_script(its, true), stage_line(its, 0) + binary.substr(0, sent), shell);
    const std::size_t line = answer.out.find('\n');
    EXPECT_THAT(answer.out, StartsWith(std::string(kMark) + "missing "));
    answer.out.erase(0, line + 1);
    return answer;
  }
  Answer stage() const { return stage(binary_); }
  /// The node's answer, after "missing ...", where this script stands for dlaunch-fetch.
  Answer fetch(const std::string& script, const std::string& shell = "/bin/sh",
               const std::string& then = "") const {
    std::ofstream(home_ + "/there") << binary_;
    const RemoteAgent its = agent(binary_.size());
    const std::string fetcher = "#!/bin/sh\n" + script + "\n";
    Answer answer =
        run(agent_script(its), fetch_line(its, fetcher.size(), "0abc") + fetcher + then, shell);
    EXPECT_THAT(answer.out, StartsWith(std::string(kMark) + "missing "));
    answer.out.erase(0, answer.out.find('\n') + 1);
    return answer;
  }
  [[nodiscard]] std::string staged() const { return started() + ran(binary_.size()); }
  [[nodiscard]] std::string ran(std::uint64_t size) const {
    return "ran agent --session 0000000000000abc --node 7 --build " + build_ + " --size " +
           std::to_string(size) + "\n0022\n";
  }
  static std::string started() { return std::string(kMark) + "started\n"; }
  [[nodiscard]] std::string cache() const { return home_ + "/.cache/dlaunch"; }
  [[nodiscard]] std::string folder() const { return cache() + '/' + build_; }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder()), fs::directory_iterator()));
  }
  static mode_t mode(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }

  std::string home_, build_, binary_;
};

TEST_F(RemoteScript, HoldsNothingThatALoginShellWouldRead) {
  for (const std::string& text :
       {agent(), agent_script({build_, kSize, kSession, 1, Purpose::attach, true}, true)}) {
    EXPECT_THAT(text, StartsWith("exec /bin/sh -c '"));
    EXPECT_EQ(text.back(), '\'');
    const std::string inside = text.substr(17, text.size() - 18);
    EXPECT_EQ(inside.find_first_of("'!\\\n"), std::string::npos) << text;
    EXPECT_EQ(text.find(kMarker), std::string::npos)
        << "a shell that prints its command looks like an answer";
  }
  const std::string line = stage_line(agent(kSize), 0);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST_F(RemoteScript, MissingThenStagedThenExecuted) {
  const Answer missing = run(agent());
  EXPECT_THAT(missing.out, StartsWith(std::string(kMark) + "missing "));
  // The rank gets the umask of the login, not that of the staging script.
  EXPECT_EQ(stage().out, staged());
  EXPECT_EQ(mode(cache()), 0700U);
  EXPECT_EQ(mode(folder()), 0700U);
  EXPECT_EQ(mode(folder() + "/dlaunch"), 0700U);
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(run(agent()).out, started() + ran(kSize));
}

TEST_F(RemoteScript, ABigBinaryIsAskedForPartByPart) {
  const std::string more = std::string(kMark) + "more\n";
  for (const std::uint64_t size : {kUploadPart, kUploadPart + 1, 2 * kUploadPart + 4711}) {
    std::string binary = binary_ + "exit\n";
    binary.resize(size, '#');
    std::string expected;
    for (std::uint64_t part = kUploadPart; part < size; part += kUploadPart) expected += more;
    EXPECT_EQ(stage(binary).out, expected + started() + ran(size));
    EXPECT_EQ(fs::file_size(folder() + "/dlaunch"), size);
    EXPECT_EQ(files(), 1U);
  }
  std::string cut = binary_ + "exit\n";
  cut.resize(2 * kUploadPart, '#');
  EXPECT_THAT(stage(cut, kUploadPart + 5).out,
              HasSubstr("failed only " + std::to_string(kUploadPart + 5) + " of "));
}

TEST_F(RemoteScript, TheWordsOfEachPurpose) {
  ASSERT_EQ(stage().code, 0);
  EXPECT_THAT(run(agent_script({build_, kSize, kSession, 3, Purpose::fresh, true})).out,
              StartsWith(started() + "ran agent --session 0000000000000abc --node 3 --build " +
                         build_ + " --size 12345 --pid-namespace\n"));
  EXPECT_THAT(run(agent_script({build_, kSize, kSession, 3, Purpose::fresh, false, 0xdef})).out,
              StartsWith(started() + "ran agent --session 0000000000000abc --node 3 --build " +
                         build_ + " --size 12345 --after 0000000000000def\n"));
  EXPECT_THAT(run(agent_script({build_, kSize, kSession, 3, Purpose::attach, false, 0xdef})).out,
              StartsWith(started() + "ran agent --attach 0000000000000abc --node 3 --build " +
                         build_ + " --size 12345\n"));
}

TEST_F(RemoteScript, FetchedFromAnotherNode) {
  for (const std::string shell : {"/bin/sh", "/bin/bash", "/usr/bin/busybox sh"}) {
    if (::access(shell.substr(0, shell.find(' ')).c_str(), X_OK) != 0) continue;
    fs::remove_all(cache());
    // The order goes to its stdin, the binary comes from its stdout.
    const Answer answer =
        fetch("[ $# -eq 0 ] && read -r o && [ $o = 0abc ] && cat '" + home_ + "/there'", shell);
    EXPECT_EQ(answer.out, staged()) << shell;
    EXPECT_EQ(mode(folder() + "/dlaunch"), 0700U);
    EXPECT_EQ(files(), 1U);
  }
}

TEST_F(RemoteScript, WhatWasNotFetchedIsStaged) {
  for (const char* fetcher :
       {"echo no connection >&2; exit 1", "kill -9 $$", "cat /etc/passwd; exit 3"}) {
    fs::remove_all(cache());
    const Answer answer = fetch(fetcher, "/bin/sh", stage_line(agent(binary_.size()), 0) + binary_);
    EXPECT_THAT(answer.out, HasSubstr(std::string(kMark) + "unfetched ")) << fetcher;
    EXPECT_THAT(answer.out, testing::EndsWith('\n' + staged())) << fetcher;
    EXPECT_EQ(files(), 1U) << fetcher;
  }
}

TEST_F(RemoteScript, WithoutAPlaceForTheFetcherItIsNotReadAsALine) {
  const RemoteAgent its = agent(binary_.size());
  const std::string fetcher = "echo evaluated\necho evaluated again\n";
  const std::string input =
      fetch_line(its, fetcher.size(), "0abc") + fetcher + stage_line(its, 0) + binary_;
  // Its name is known once mktemp(1) has made the file for the binary.
  fs::create_directory(home_ + "/bin");
  std::ofstream(home_ + "/bin/mktemp")
      << "#!/bin/sh\nf=$(PATH=/usr/bin:/bin mktemp \"$@\") && mkdir $f.g && echo $f\n";
  fs::permissions(home_ + "/bin/mktemp", fs::perms::owner_all);
  const std::string before = "PATH='" + home_ + "/bin':$PATH;";
  const Answer answer = run(agent_script(its), input, "/bin/sh", before);
  EXPECT_THAT(answer.out, HasSubstr(std::string(kMark) + "unfetched "));
  EXPECT_THAT(answer.out, testing::Not(HasSubstr("evaluated")));
  EXPECT_THAT(answer.out, HasSubstr(staged()));
}

TEST_F(RemoteScript, WhatWasNotFetchedAndIsNotStagedLeavesNothing) {
  EXPECT_EQ(fetch("echo no connection >&2; exit 1").out,
            std::string(kMark) + "unfetched no connection\n");
  EXPECT_EQ(files(), 0U);
}

TEST_F(RemoteScript, ABinaryThatHasComeMeanwhileIsUsed) {
  const RemoteAgent its = agent(binary_.size());
  const std::string fetcher = "#!/bin/sh\necho never executed; exit 1\n";
  const std::string line = fetch_line(its, fetcher.size(), "0abc") + fetcher;
  ASSERT_EQ(stage().out, staged());
  // The launcher's answer to a shell that has not found it, as if it came now.
  fs::rename(folder(), home_ + "/later");
  const Answer answer =
      run(agent_script(its), "mv '" + home_ + "/later' '" + folder() + "'; " + line);
  EXPECT_THAT(answer.out, testing::EndsWith('\n' + staged()));
}

TEST_F(RemoteScript, InEveryShellThatThisMachineHas) {
  ASSERT_EQ(stage().code, 0);
  int shells = 0;
  for (const char* shell : {"/bin/sh", "/bin/dash", "/bin/bash", "/bin/zsh", "/usr/bin/zsh",
                            "/usr/bin/fish", "/bin/tcsh", "/usr/bin/tcsh", "/bin/csh",
                            "/usr/bin/mksh", "/bin/busybox sh", "/usr/bin/busybox sh"}) {
    const std::string program = std::string(shell).substr(0, std::string(shell).find(' '));
    if (::access(program.c_str(), X_OK) != 0) continue;
    ++shells;
    EXPECT_THAT(run(agent(), "", shell).out, StartsWith(started() + "ran agent ")) << shell;
    EXPECT_EQ(stage(binary_, std::string::npos, shell).out, staged()) << shell;
  }
  EXPECT_GE(shells, 2);
}

TEST_F(RemoteScript, BuildsThatWereNotUsedForLongAreRemoved) {
  const auto build = [&](const std::string& name, int days) {
    fs::create_directories(cache() + '/' + name);
    std::ofstream(cache() + '/' + name + "/dlaunch") << "#!/bin/sh\n";
    const auto then = fs::file_time_type::clock::now() - std::chrono::hours(24 * days + 1);
    fs::last_write_time(cache() + '/' + name + "/dlaunch", then);
  };
  const std::string old1(40, '1');
  const std::string old2 = std::string(20, 'a') + std::string(20, '9');
  const std::string used(40, 'b');
  const std::string more(40, 'c');
  const std::string no_id = std::string(39, 'd') + 'x';
  build(old1, 32);
  build(old2, 400);
  build(used, 29);
  build(more, 400);
  std::ofstream(cache() + '/' + more + "/notes") << "not ours";
  build("my-tools", 400);  // of the user
  build(no_id, 400);
  fs::create_directories(cache() + "/20260101-000000-abc-1/attempt-0");  // the output of a run
  fs::create_directory_symlink(cache() + '/' + used, cache() + "/link");
  ::chmod(cache().c_str(), 0700);
  ASSERT_EQ(stage().out, staged());
  EXPECT_FALSE(fs::exists(cache() + '/' + old1));
  EXPECT_FALSE(fs::exists(cache() + '/' + old2));
  EXPECT_TRUE(fs::exists(cache() + '/' + used + "/dlaunch"));
  EXPECT_TRUE(fs::exists(cache() + '/' + more + "/notes"));
  EXPECT_TRUE(fs::exists(cache() + "/my-tools/dlaunch"));
  EXPECT_TRUE(fs::exists(cache() + '/' + no_id + "/dlaunch"));
  EXPECT_TRUE(fs::exists(cache() + "/20260101-000000-abc-1/attempt-0"));
  EXPECT_TRUE(fs::exists(folder() + "/dlaunch"));
}

TEST_F(RemoteScript, XdgCacheHomeCountsWhenItIsAbsolute) {
  const auto with = [this](const std::string& folder) {
    return stage(binary_, std::string::npos, "/bin/sh",
                 "XDG_CACHE_HOME='" + folder + "'; export XDG_CACHE_HOME; ")
        .code;
  };
  ASSERT_EQ(with(home_ + "/other place"), 0);
  EXPECT_TRUE(fs::exists(home_ + "/other place/dlaunch/" + build_ + "/dlaunch"));
  ASSERT_EQ(with("relative"), 0);
  EXPECT_TRUE(fs::exists(folder() + "/dlaunch"));
}

TEST_F(RemoteScript, AnUploadThatBreaksOffLeavesNothing) {
  const Answer answer = stage(binary_, 10);
  EXPECT_EQ(answer.out, std::string(kMark) + "failed only 10 of " + std::to_string(binary_.size()) +
                            " bytes arrived\n");
  EXPECT_EQ(files(), 0U);
  EXPECT_THAT(run(agent()).out, HasSubstr("missing"));
}

TEST_F(RemoteScript, WhatCannotBeExecutedIsNotPutInPlace) {
  const std::string broken = "#!/nowhere/interpreter\n";
  const Answer answer = stage(broken);
  EXPECT_THAT(answer.out, StartsWith(std::string(kMark) + "failed "));
  EXPECT_THAT(answer.out, HasSubstr("cannot be executed"));
  EXPECT_EQ(files(), 0U);
  const std::string other = "#!/bin/sh\necho another build\n";
  EXPECT_THAT(stage(other).out, HasSubstr("is not what was sent: another build"));
}

TEST_F(RemoteScript, AWholeFileInPlaceStaysAndAnyOtherIsReplaced) {
  ASSERT_EQ(stage().code, 0);
  const std::string file = folder() + "/dlaunch";
  const auto inode = [&] {
    struct stat info {};
    return ::stat(file.c_str(), &info) == 0 ? info.st_ino : 0;
  };
  const auto first = inode();
  ASSERT_EQ(stage().out, staged());
  EXPECT_EQ(inode(), first);
  const auto is_repaired = [&] {
    const Answer answer = stage();
    std::ifstream there(file);
    const std::string text((std::istreambuf_iterator<char>(there)), {});
    return answer.out == staged() && text == binary_ && mode(file) == 0700U &&
           fs::is_regular_file(fs::symlink_status(file)) && files() == 1;
  };
  fs::resize_file(file, 10);
  EXPECT_TRUE(is_repaired());
  ::chmod(file.c_str(), 0600);
  EXPECT_TRUE(is_repaired());
  fs::rename(file, home_ + "/moved");
  fs::create_symlink(home_ + "/moved", file);
  EXPECT_TRUE(is_repaired());
}

TEST_F(RemoteScript, AStdinThatIsNotTheConnectionIsNamed) {
  ASSERT_EQ(stage().code, 0);
  for (const std::string& script : {agent(), agent_script(agent(kSize), true)}) {
    EXPECT_THAT(run("exec </dev/null; " + script).out,
                StartsWith(std::string(kMark) + "failed its stdin is a device and not"));
    for (const char* shell : {"/bin/sh", "/bin/bash", "/bin/dash", "/bin/busybox sh"}) {
      if (::access(std::string(shell).substr(0, std::string(shell).find(' ')).c_str(), X_OK) != 0)
        continue;
      EXPECT_THAT(run("exec <&-; " + script, "", shell).out,
                  StartsWith(std::string(kMark) + "failed its stdin is closed and not"))
          << shell;
    }
  }
}

TEST_F(RemoteScript, AFolderThatOthersMayWriteToIsNotTrusted) {
  ASSERT_EQ(stage().code, 0);
  ::chmod(folder().c_str(), 0777);
  EXPECT_THAT(run(agent()).out, HasSubstr("missing"));
  ::chmod(folder().c_str(), 0700);
  ::chmod(cache().c_str(), 0770);
  EXPECT_THAT(run(agent()).out, HasSubstr("missing"));
  // Staging again restricts it and replaces files that others may have put there.
  EXPECT_EQ(stage().out, staged());
  EXPECT_EQ(mode(cache()), 0700U);
}

TEST_F(RemoteScript, LinksAreNotFollowed) {
  fs::create_directories(home_ + "/elsewhere/" + build_);
  fs::permissions(home_ + "/elsewhere", fs::perms::owner_all);
  fs::create_directories(home_ + "/.cache");
  fs::create_directory_symlink(home_ + "/elsewhere", cache());
  EXPECT_THAT(stage().out, HasSubstr("belongs to another user or is a link"));
  EXPECT_TRUE(fs::is_empty(home_ + "/elsewhere/" + build_));
  fs::remove(cache());
  ASSERT_EQ(stage().code, 0);
  fs::rename(folder() + "/dlaunch", home_ + "/moved");
  fs::create_symlink(home_ + "/moved", folder() + "/dlaunch");
  EXPECT_THAT(run(agent()).out, HasSubstr("missing"));
}

TEST_F(RemoteScript, ALinkDoesNotLeadTheModeOfAFolderElsewhere) {
  fs::create_directories(home_ + "/elsewhere");
  ::chmod((home_ + "/elsewhere").c_str(), 0755);
  fs::create_directories(home_ + "/.cache");
  fs::create_directory_symlink(home_ + "/elsewhere", cache());
  EXPECT_THAT(stage().out, HasSubstr("belongs to another user or is a link"));
  EXPECT_EQ(mode(home_ + "/elsewhere"), 0755U);
}

TEST_F(RemoteScript, AFolderOfAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a folder of another user";
  ASSERT_EQ(stage().code, 0);
  ASSERT_EQ(::chown(folder().c_str(), 12345, 12345), 0);
  EXPECT_THAT(run(agent()).out, HasSubstr("missing"));
  EXPECT_THAT(stage().out, HasSubstr("belongs to another user"));
}

TEST_F(RemoteScript, AFileWhereTheFolderShouldBeIsTold) {
  std::ofstream(home_ + "/.cache") << "x";
  EXPECT_THAT(stage().out, StartsWith(std::string(kMark) + "failed mkdir: "));
}

TEST_F(RemoteScript, SeveralAtOnceLeaveOneWholeFile) {
  std::vector<std::thread> threads;
  std::vector<std::string> answers(8);
  for (std::string& answer : answers)
    threads.emplace_back([this, &answer] { answer = stage().out; });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& answer : answers) EXPECT_EQ(answer, staged());
  EXPECT_EQ(files(), 1U);
  EXPECT_THAT(run(agent()).out, StartsWith(started() + "ran agent"));
}

TEST_F(RemoteScript, OtherBuildsStay) {
  fs::create_directories(cache() + "/0ther");
  fs::permissions(cache(), fs::perms::owner_all);
  std::ofstream(cache() + "/0ther/dlaunch") << "older";
  ASSERT_EQ(stage().code, 0);
  EXPECT_TRUE(fs::exists(cache() + "/0ther/dlaunch"));
}

}  // namespace
}  // namespace dlaunch
