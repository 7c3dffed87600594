#include "report/nan_notes.h"

#include <gmock/gmock.h>

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(NanNotes, AValueOfAWatchedQuantity) {
  EXPECT_THAT(printed_nan("step 1 loss 0.5\nstep 2 loss nan\n"), Optional(std::string("loss nan")));
  EXPECT_THAT(printed_nan("{'train_loss': nan, 'lr': 0.1}"),
              Optional(std::string("train_loss': nan")));
  EXPECT_THAT(printed_nan("grad_norm=NaN"), Optional(std::string("grad_norm=NaN")));
  EXPECT_THAT(printed_nan("Loss: tensor(nan, device='cuda:0')"),
              Optional(std::string("Loss: tensor(nan")));
  EXPECT_THAT(printed_nan("val/acc:\t-nan"), Optional(std::string("val/acc:    -nan")));
}

TEST(NanNotes, OtherMentionsDoNotCount) {
  for (const char* text :
       {"", "nan", "loss 0.5", "banana loss", "loss nanny", "mean    NaN   NaN", "no nan was found",
        "the loss is finite, not nan", "lossnan", "loss\nnan"}) {
    EXPECT_EQ(printed_nan(text), std::nullopt) << text;
  }
}

TEST(NanNotes, OfMetrics) {
  Metric loss{"loss", {{Rank(0), Stream::out, 5, 0.5, 0.5}}, 3, "nan"};
  const Metric rate{"rate", {}, 3, "1,234"};
  EXPECT_THAT(nan_metrics({loss, rate}),
              ElementsAre("3 values of the metric loss are not a number (\"nan\")"));
  EXPECT_THAT(nan_metrics({{"loss", {}, 3, "nan"}}), IsEmpty());
  loss.not_numbers = 0;
  EXPECT_THAT(nan_metrics({loss}), IsEmpty());
}

}  // namespace
}  // namespace dlaunch
