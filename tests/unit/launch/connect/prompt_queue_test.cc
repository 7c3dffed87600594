#include "launch/connect/prompt_queue.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using Kind = Prompt::Kind;

const std::string kKey = "Enter passphrase for key '/home/me/.ssh/id': ";

std::string words(std::vector<PromptQueue::Reply> replies) {
  std::string text;
  for (const auto& one : replies)
    text += (text.empty() ? "" : " ") + std::to_string(one.asker) + '=' +
            one.text.value_or("(refused)");
  return text;
}

TEST(PromptQueue, OneAtATimeInTheirOrder) {
  PromptQueue queue;
  queue.add({1, "a", Kind::secret, "me@a's password: "});
  queue.add({2, "b", Kind::secret, "me@b's password: "});
  EXPECT_EQ(queue.next_question()->asker, 1U);
  EXPECT_FALSE(queue.next_question());
  queue.answer("x");
  EXPECT_EQ(words(queue.replies()), "1=x");
  EXPECT_EQ(queue.next_question()->asker, 2U);
  queue.answer(std::nullopt);
  EXPECT_EQ(words(queue.replies()), "2=(refused)");
  EXPECT_FALSE(queue.asking());
}

TEST(PromptQueue, OnePassphraseForManyHosts) {
  PromptQueue queue;
  for (std::uint64_t i = 1; i <= 4; ++i) queue.add({i, std::to_string(i), Kind::secret, kKey});
  ASSERT_TRUE(queue.next_question());
  queue.answer("open");
  EXPECT_EQ(words(queue.replies()), "1=open 2=open 3=open 4=open");
  queue.add({9, "later", Kind::secret, kKey});
  EXPECT_EQ(words(queue.replies()), "9=open");
  EXPECT_FALSE(queue.next_question());
}

TEST(PromptQueue, AWrongAnswerIsForgotten) {
  PromptQueue queue;
  queue.add({1, "a", Kind::secret, kKey});
  (void)queue.next_question();
  queue.answer("wrong");
  (void)queue.replies();
  queue.add({2, "a", Kind::secret, kKey});  // the same ssh asks again
  EXPECT_EQ(words(queue.replies()), "");
  EXPECT_EQ(queue.next_question()->asker, 2U);
  queue.answer("right");
  EXPECT_EQ(words(queue.replies()), "2=right");
  queue.add({3, "b", Kind::secret, kKey});
  EXPECT_EQ(words(queue.replies()), "3=right");
}

TEST(PromptQueue, AllThatWereGivenAWrongAnswerGetTheRightOne) {
  PromptQueue queue;
  queue.add({1, "a", Kind::secret, kKey});
  queue.add({2, "b", Kind::secret, kKey});
  (void)queue.next_question();
  queue.answer("wrong");
  EXPECT_EQ(words(queue.replies()), "1=wrong 2=wrong");
  queue.add({3, "b", Kind::secret, kKey});
  EXPECT_EQ(words(queue.replies()), "");
  EXPECT_EQ(queue.next_question()->asker, 3U);
  queue.answer("right");
  EXPECT_EQ(words(queue.replies()), "3=right");
  queue.add({4, "a", Kind::secret, kKey});
  EXPECT_EQ(words(queue.replies()), "4=right");
  EXPECT_FALSE(queue.next_question());
}

TEST(PromptQueue, OnlyPasswordsAreUsedAgain) {
  PromptQueue queue;
  for (const std::string text : {"Verification code: ", "One-time password: "}) {
    queue.add({1, "a", Kind::secret, text});
    (void)queue.next_question();
    queue.answer("123456");
    (void)queue.replies();
    queue.add({2, "b", Kind::secret, text});
    EXPECT_EQ(words(queue.replies()), "") << text;
    EXPECT_TRUE(queue.next_question()) << text;
    queue.answer("1");
    (void)queue.replies();
  }
}

TEST(PromptQueue, WhoHasGoneIsNotAnswered) {
  PromptQueue queue;
  queue.add({1, "a", Kind::visible, "yes/no"});
  queue.add({2, "b", Kind::visible, "yes/no"});
  (void)queue.next_question();
  queue.gone(2);
  EXPECT_FALSE(queue.withdrawn());
  queue.gone(1);
  EXPECT_TRUE(queue.withdrawn());
  EXPECT_FALSE(queue.withdrawn());
  queue.answer("late");
  EXPECT_EQ(words(queue.replies()), "");
  EXPECT_FALSE(queue.next_question());
}

TEST(PromptQueue, Kinds) {
  EXPECT_EQ(kind_of_prompt("me@a's password: ", ""), Kind::secret);
  EXPECT_EQ(
      kind_of_prompt("Are you sure you want to continue connecting (yes/no/[fingerprint])? ", ""),
      Kind::visible);
  EXPECT_EQ(kind_of_prompt("Allow use of key?", "confirm"), Kind::visible);
  EXPECT_EQ(kind_of_prompt("Confirm user presence for key", "none"), Kind::notice);
}

TEST(PromptQueue, WhatAServerAsksInItsOwnWordsIsNotAnsweredForAnother) {
  PromptQueue queue;
  queue.add({1, "ssh gpu01", Prompt::Kind::secret, "Password: "});
  queue.add({2, "ssh gpu02", Prompt::Kind::secret, "Password: "});
  ASSERT_TRUE(queue.next_question().has_value());
  queue.answer("for gpu01");
  EXPECT_EQ(queue.replies().size(), 1U);
  ASSERT_TRUE(queue.next_question().has_value());
}

}  // namespace
}  // namespace dlaunch
