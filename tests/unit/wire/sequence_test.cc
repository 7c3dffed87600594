#include "wire/sequence.h"

#include <gtest/gtest.h>

#include "wire/codec.h"

namespace dlaunch::wire {
namespace {

using Verdict = ControlReceiver::Verdict;

TEST(ControlSender, NumbersControlFramesAndOnlyThem) {
  ControlSender sender(4, 99);
  EXPECT_EQ(sender.stamp(encode(Hello{})).sequence, 1U);
  EXPECT_EQ(sender.stamp(encode(Heartbeat{})).sequence, 0U);
  EXPECT_EQ(sender.stamp(encode(Ack{})).sequence, 0U);
  EXPECT_EQ(sender.stamp(encode(OutputData{})).sequence, 0U);
  const Frame second = sender.stamp(encode(Bye{}));
  EXPECT_EQ(second.sequence, 2U);
  EXPECT_EQ(second.node, 4U);
  EXPECT_EQ(second.session, 99U);
  ASSERT_EQ(sender.unacknowledged().size(), 2U);
  EXPECT_EQ(sender.unacknowledged().back(), second);
}

TEST(ControlSender, AcknowledgementIsCumulative) {
  ControlSender sender(0, 1);
  for (int i = 0; i < 5; ++i) (void)sender.stamp(encode(Notice{"x"}));
  EXPECT_TRUE(sender.acknowledged(3).has_value());
  ASSERT_EQ(sender.unacknowledged().size(), 2U);
  EXPECT_EQ(sender.unacknowledged().front().sequence, 4U);
  EXPECT_TRUE(sender.acknowledged(1).has_value());  // an old one, overtaken
  EXPECT_EQ(sender.unacknowledged().size(), 2U);
  const Status never = sender.acknowledged(6);
  ASSERT_FALSE(never.has_value());
  EXPECT_EQ(never.error().message, "acknowledgement of message 6, but only 5 were sent");
  EXPECT_TRUE(sender.acknowledged(5).has_value());
  EXPECT_TRUE(sender.unacknowledged().empty());
}

TEST(ControlReceiver, FreshDuplicateAndGap) {
  ControlSender sender(0, 1);
  ControlReceiver receiver(0, 1);
  const Frame one = sender.stamp(encode(Notice{"1"}));
  const Frame two = sender.stamp(encode(Notice{"2"}));
  const Frame three = sender.stamp(encode(Notice{"3"}));
  EXPECT_EQ(receiver.accept(one).value(), Verdict::fresh);
  EXPECT_EQ(receiver.accept(one).value(), Verdict::duplicate);
  EXPECT_EQ(receiver.accept(three).error().message, "Notice message 3 came where 2 was expected");
  EXPECT_EQ(receiver.accept(two).value(), Verdict::fresh);
  EXPECT_EQ(receiver.accept(three).value(), Verdict::fresh);
  EXPECT_EQ(receiver.accept(sender.stamp(encode(Heartbeat{}))).value(), Verdict::fresh);
}

TEST(ControlReceiver, RefusesStrangers) {
  ControlReceiver receiver(7, 1);
  EXPECT_EQ(receiver.accept(ControlSender(8, 1).stamp(encode(Bye{}))).error().message,
            "Bye message 1 is for node 8, expected node 7");
  EXPECT_EQ(receiver.accept(ControlSender(7, 2).stamp(encode(Bye{}))).error().message,
            "Bye message 1 is for another session");
  Frame bare = encode(Bye{});
  bare.node = 7;
  bare.session = 1;
  EXPECT_EQ(receiver.accept(bare).error().message, "Bye message 0 has no sequence number");
  Frame beat = encode(Heartbeat{});
  beat.node = 7;
  beat.session = 1;
  beat.sequence = 5;
  EXPECT_FALSE(receiver.accept(beat).has_value());
}

TEST(ControlReceiver, AcknowledgesEvery32OrWhenAsked) {
  ControlSender sender(0, 1);
  ControlReceiver receiver(0, 1);
  EXPECT_EQ(receiver.ack_due(true), std::nullopt);
  for (std::uint64_t i = 1; i <= kAckEvery; ++i) {
    EXPECT_EQ(receiver.ack_due(), std::nullopt) << i;
    (void)receiver.accept(sender.stamp(encode(Notice{"x"}))).value();
  }
  EXPECT_EQ(receiver.ack_due(), 32U);
  EXPECT_EQ(receiver.ack_due(true), std::nullopt);
  (void)receiver.accept(sender.stamp(encode(Heartbeat{}))).value();
  EXPECT_EQ(receiver.ack_due(true), std::nullopt);  // nothing to acknowledge
  (void)receiver.accept(sender.stamp(encode(Notice{"x"}))).value();
  EXPECT_EQ(receiver.ack_due(), std::nullopt);
  EXPECT_EQ(receiver.ack_due(true), 33U);
}

TEST(ControlReceiver, AcknowledgesALargeFrameAtOnce) {
  ControlSender sender(0, 1);
  ControlReceiver receiver(0, 1);
  (void)receiver.accept(sender.stamp(encode(Notice{"x"}))).value();
  EXPECT_EQ(receiver.ack_due(), std::nullopt);
  (void)receiver.accept(sender.stamp(encode(Notice{std::string(kAckBytes, 'x')}))).value();
  EXPECT_EQ(receiver.ack_due(), 2U);
  (void)receiver.accept(sender.stamp(encode(Notice{"x"}))).value();
  EXPECT_EQ(receiver.ack_due(), std::nullopt);
}

TEST(ControlSender, WhatNobodyAcknowledgesIsTooMuchOneDay) {
  ControlSender sender(0, 1);
  const Frame large = encode(Notice{std::string(200'000, 'x')});
  while (sender.unacknowledged().size() <= kMostUnacknowledgedFrames) {
    EXPECT_FALSE(sender.keeps_too_much()) << sender.unacknowledged().size();  // few, however large
    (void)sender.stamp(large);
  }
  EXPECT_TRUE(sender.keeps_too_much());
  ASSERT_TRUE(sender.acknowledged(1024).has_value());
  for (int i = 0; i < 10'000; ++i) (void)sender.stamp(encode(Notice{"small"}));
  EXPECT_FALSE(sender.keeps_too_much());
}

TEST(Sequence, ASessionGoesOnOverANewChannel) {
  ControlSender sender(0, 1);
  ControlReceiver receiver(0, 1);
  for (int i = 0; i < 3; ++i) {
    (void)receiver.accept(sender.stamp(encode(Notice{"arrives"}))).value();
  }
  ASSERT_TRUE(sender.acknowledged(*receiver.ack_due(true)).has_value());
  (void)receiver.accept(sender.stamp(encode(Notice{"arrives, but its Ack is lost"}))).value();
  (void)receiver.ack_due(true);
  (void)sender.stamp(encode(Notice{"lost"}));
  std::vector<Verdict> verdicts;
  for (const Frame& frame : sender.unacknowledged())
    verdicts.push_back(receiver.accept(frame).value());
  EXPECT_EQ(verdicts, (std::vector{Verdict::duplicate, Verdict::fresh}));
  EXPECT_EQ(receiver.ack_due(true), 5U);
}

}  // namespace
}  // namespace dlaunch::wire
