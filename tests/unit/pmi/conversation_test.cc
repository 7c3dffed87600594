// The messages of real clients: MPICH 4.0.2 (src/pmi/simple/simple_pmi.c) and MPICH 5
// (src/pmi/maint/pmi-1.1.txt); the answers are Hydra's.
#include "node/pmi/conversation.h"

#include <gtest/gtest.h>

namespace dlaunch::pmi {
namespace {

using Kind = Conversation::Kind;

class ConversationTest : public testing::Test {
 protected:
  Conversation::Said say(const std::string& text) {
    rank_.feed(text);
    const auto said = rank_.next(space_);
    EXPECT_TRUE(said) << text;
    EXPECT_FALSE(rank_.next(space_)) << text;
    return said.value_or(Conversation::Said{});
  }
  KeySpace space_{{"dlaunch-1", 4, "(vector,(0,2,2))", 100'000}};
  Conversation rank_;
};

TEST_F(ConversationTest, AnswersByCommand) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"cmd=init pmi_version=1 pmi_subversion=1",
       "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"},
      {"cmd=get_maxes", "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=960"},
      {"cmd=get_appnum", "cmd=appnum rc=0 appnum=0"},
      {"cmd=get_my_kvsname", "cmd=my_kvsname rc=0 kvsname=dlaunch-1"},
      {"cmd=get_universe_size", "cmd=universe_size rc=0 size=4"},
      {"cmd=get kvsname=dlaunch-1 key=PMI_process_mapping",
       "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))"},
      {"cmd=get kvsname=dlaunch-1 key=nothing",
       "cmd=get_result rc=-1 msg=key_not_found value=unknown"},
      {"cmd=put kvsname=dlaunch-1 key=card value=a#b$c=", "cmd=put_result rc=0 msg=success"},
      {"cmd=get kvsname=dlaunch-1 key=card", "cmd=get_result rc=0 msg=success value=a#b$c="},
      // MPICH 4.1 and newer escapes blanks; values are returned with their escapes.
      {"cmd=put key=blank value=a\\ b\\\\", "cmd=put_result rc=0 msg=success"},
      {"cmd=get key=blank", "cmd=get_result rc=0 msg=success value=a\\ b\\\\"},
      {"cmd=put kvsname=dlaunch-1 key=PMI_x value=1", "cmd=put_result rc=-1 msg=reserved_key"},
      {"cmd=finalize", "cmd=finalize_ack rc=0"},
  };
  for (const auto& [command, answer] : table) EXPECT_EQ(say(command + "\n").text, answer + "\n");
}

TEST_F(ConversationTest, TheLifeOfARank) {
  EXPECT_FALSE(rank_.connected());
  EXPECT_EQ(say("cmd=init pmi_version=1 pmi_subversion=1\n").kind, Kind::connected);
  EXPECT_TRUE(rank_.connected());
  EXPECT_EQ(say("cmd=barrier_in\n").kind, Kind::at_barrier);
  EXPECT_TRUE(rank_.at_barrier());
  EXPECT_EQ(rank_.barrier_out(), "cmd=barrier_out rc=0\n");
  EXPECT_EQ(rank_.barrier_out(), "") << "once";
  EXPECT_EQ(say("cmd=finalize\n").kind, Kind::finalized);
  EXPECT_TRUE(rank_.finalized());
  EXPECT_FALSE(rank_.asked_of_others());
  // A script may run another program.
  EXPECT_EQ(say("cmd=init pmi_version=1 pmi_subversion=2\n").kind, Kind::connected);
  EXPECT_FALSE(rank_.finalized());
}

TEST_F(ConversationTest, LinesComeInPieces) {
  rank_.feed("cmd=get_app");
  EXPECT_FALSE(rank_.next(space_));
  rank_.feed("num\ncmd=get_universe_size\ncmd=");
  EXPECT_EQ(rank_.next(space_)->text, "cmd=appnum rc=0 appnum=0\n");
  EXPECT_EQ(rank_.next(space_)->text, "cmd=universe_size rc=0 size=4\n");
  EXPECT_FALSE(rank_.next(space_));
}

TEST_F(ConversationTest, Abort) {
  const auto said = say("cmd=abort exitcode=7 message=abort\ncmd=get_appnum\n");
  EXPECT_EQ(said.kind, Kind::aborted);
  EXPECT_EQ(said.code, 7);
  EXPECT_EQ(rank_.aborted(), 7);
}

TEST_F(ConversationTest, AbortWithoutACodeAndInABarrier) {
  (void)say("cmd=barrier_in\n");
  EXPECT_EQ(say("cmd=abort exitcode=many\n").code, 1);
}

TEST_F(ConversationTest, SpawnIsRefusedOnceForAllOfIts) {
  const std::string first =
      "mcmd=spawn\nnprocs=1\nexecname=./a\ntotspawns=2\nspawnssofar=1\narg1=endcmd x\n"
      "argcnt=1\npreput_num=0\ninfo_num=0\nendcmd\n";
  const std::string second =
      "mcmd=spawn\nnprocs=1\nexecname=./b\ntotspawns=2\nspawnssofar=2\nargcnt=0\nendcmd\n";
  const auto said = say(first + second);
  EXPECT_EQ(said.kind, Kind::refused);
  EXPECT_EQ(said.what, "MPI_Comm_spawn");
  EXPECT_EQ(said.text, "cmd=spawn_result rc=-1 msg=not_supported_by_dlaunch\n");
  EXPECT_EQ(say("cmd=get_appnum\n").text, "cmd=appnum rc=0 appnum=0\n");
}

TEST_F(ConversationTest, NamesAreNotPublished) {
  EXPECT_EQ(say("cmd=publish_name service=s port=p\n").text,
            "cmd=publish_result rc=-1 msg=not_supported_by_dlaunch\n");
  EXPECT_EQ(say("cmd=lookup_name service=s\n").kind, Kind::refused);
  EXPECT_EQ(say("cmd=unpublish_name service=s\n").what, "MPI_Unpublish_name");
}

TEST_F(ConversationTest, Pmi2IsNamed) {
  const auto said = say("cmd=init pmi_version=2 pmi_subversion=0\n");
  EXPECT_EQ(said.kind, Kind::nonsense);
  EXPECT_EQ(said.text, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
  EXPECT_EQ(said.what, "it asks for version \"2\" of PMI");
  EXPECT_FALSE(rank_.connected());
}

TEST(Conversation, NonsenseIsTheLastThatIsHeard) {
  const std::string long_line(kMostLine + 1, 'x');
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\n"), std::string("cmd=\n"), std::string("cmd=fly\n"),
        std::string("cmd=get\0key=a\n", 14), long_line, long_line + '\n', "mcmd=fly\n" + long_line,
        std::string("    90cmd=fullinit;pmijobid=1;\n"),
        "cmd=barrier_in\ncmd=get_appnum\n" + long_line}) {
    KeySpace space({"dlaunch-1", 4, "", 1000});
    Conversation rank;
    rank.feed(text);
    auto said = rank.next(space);
    if (said && said->kind == Kind::at_barrier) said = rank.next(space);
    ASSERT_TRUE(said) << text.substr(0, 80);
    EXPECT_EQ(said->kind, Kind::nonsense) << text.substr(0, 80);
    EXPECT_LT(said->what.size(), 120U);
    rank.feed("cmd=init pmi_version=1 pmi_subversion=1\n");
    EXPECT_FALSE(rank.next(space));
  }
}

TEST(Conversation, ASpawnHasAnEndToo) {
  KeySpace space({"dlaunch-1", 4, "", 1000});
  Conversation rank;
  rank.feed("mcmd=spawn\n");
  std::optional<Conversation::Said> said;
  for (int i = 0; i < 10'000 && !said; ++i) {
    rank.feed("totspawns=" + std::to_string(i) + "\nspawnssofar=x\nendcmd\nmcmd=spawn\n");
    said = rank.next(space);
  }
  ASSERT_TRUE(said);
  EXPECT_EQ(said->kind, Kind::nonsense);
}

TEST(Conversation, AndSoHaveItsArguments) {
  KeySpace space({"dlaunch-1", 4, "", 1000});
  Conversation rank;
  rank.feed("mcmd=spawn\n");
  std::optional<Conversation::Said> said;
  for (int i = 0; i < 10'000 && !said; ++i) {
    rank.feed("arg1=" + std::string(1000, 'x') + "\n");
    said = rank.next(space);
  }
  ASSERT_TRUE(said);
  EXPECT_EQ(said->kind, Kind::nonsense);
}

}  // namespace
}  // namespace dlaunch::pmi
