#include "launch/collect/collect_settings.h"

#include <gmock/gmock.h>

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const CollectPlace kPlace{"20261120-210142-k3f", "/home/me/job/runs/20261120-210142-k3f",
                          "/home/me/job", "/home/me/job/src", "/home/me"};

CollectPlace place_of(std::size_t nodes) {
  CollectPlace place = kPlace;
  place.has_several = nodes > 1;
  return place;
}

std::vector<StageItem> items(const std::string& from, const std::string& to, int count = 2) {
  JobSpec spec;
  spec.collect = {{from, to}};
  std::vector<CollectNode> nodes;
  for (int i = 1; i <= count; ++i)
    nodes.push_back({NodeId(static_cast<std::uint32_t>(i)), "gpu" + std::to_string(i)});
  std::vector<StageItem> found;
  for (const auto& node : collect_settings(spec, place_of(nodes.size()), nodes).nodes)
    found.push_back(node.items.front());
  return found;
}

TEST(CollectSettings, PathsOnTheNodes) {
  EXPECT_EQ(items("/local/out/", "x", 1).front().from, "/local/out");
  EXPECT_EQ(items("out/../ckpt", "x", 1).front().from, "/home/me/job/src/ckpt");
  EXPECT_EQ(items("~/out", "x", 1).front().from, "~/out");
}

TEST(CollectSettings, PathsHere) {
  EXPECT_EQ(items("/a", "results/{node}/", 1).front().to, "/home/me/job/results/gpu1/");
  EXPECT_EQ(items("/a", "/data/{run}/{node}", 1).front().to, "/data/20261120-210142-k3f/gpu1");
  EXPECT_EQ(items("/a", "~/{node}-{node}", 1).front().to, "/home/me/gpu1-gpu1");
  EXPECT_EQ(items("/local/out/", "", 1).front().to, kPlace.run_folder + "/collected/gpu1/out");
  EXPECT_EQ(items("/a", "results", 1).front().to, "/home/me/job/results");
}

TEST(CollectSettings, NodesDoNotOverwriteEachOther) {
  const auto folder = items("/a", "results/");
  EXPECT_EQ(folder[0].to, "/home/me/job/results/gpu1/");
  EXPECT_EQ(folder[1].to, "/home/me/job/results/gpu2/");
  EXPECT_EQ(items("/a", "results")[1].to, "/home/me/job/results/gpu2");
}

// `dlaunch collect` may ask only some of the nodes of a run.
TEST(CollectSettings, ThePathDoesNotDependOnHowManyAreAsked) {
  JobSpec spec;
  spec.collect = {{"/a", "results"}};
  const auto settings = collect_settings(spec, place_of(2), {{NodeId(0), "gpu1"}});
  EXPECT_EQ(settings.nodes[0].items[0].to, "/home/me/job/results/gpu1");
}

TEST(CollectSettings, SeveralLinesMayGoIntoOneFolder) {
  JobSpec spec;
  spec.collect = {{"/a/out/", "r/{node}/"}, {"/b/log", "r/{node}/"}};
  const auto items = collect_settings(spec, kPlace, {{NodeId(0), "gpu1"}}).nodes[0].items;
  EXPECT_EQ(items[0].to, "/home/me/job/r/gpu1/out");
  EXPECT_EQ(items[1].to, "/home/me/job/r/gpu1/log");
}

TEST(CollectSettings, NoPathLiesInAnother) {
  JobSpec spec;
  spec.collect = {{"/a", "r"}, {"/b", "/home/me/job/r/x/y"}};
  EXPECT_EQ(collect_settings(spec, kPlace, {{NodeId(0), "gpu1"}}).nodes[0].problem,
            "the target /home/me/job/r/x/y lies inside another target, /home/me/job/r");
}

TEST(CollectSettings, AFolderIsNotCopiedIntoItself) {
  JobSpec spec;
  spec.collect = {{"~/job", "{node}"}};
  const auto of = [&](bool is_launcher) {
    return collect_settings(spec, kPlace, {{NodeId(0), "here", is_launcher}}).nodes[0].problem;
  };
  EXPECT_EQ(of(true), "/home/me/job cannot be copied into itself, to /home/me/job/here");
  EXPECT_EQ(of(false), "");
  spec.collect = {{"/home/me/job", "/home/me/job/"}};  // it is there already
  EXPECT_EQ(of(true), "");
}

TEST(CollectSettings, WhatIsSaidOfIt) {
  CollectReport report;
  report.took = std::chrono::seconds(3);
  report.nodes = {{NodeId(0), "gpu1", 2, 3000, 1000, {"/none"}, {}, ""},
                  {NodeId(1), "gpu2", 1, 1000, 0, {"/none"}, {"/fifo"}, ""},
                  {NodeId(2), "gpu3", 0, 0, 0, {}, {}, "was lost"}};
  EXPECT_EQ(collected_text(report), "collected 3 files, 4.0 kB from 3 nodes in 3.0 s: 1.0 kB sent");
  EXPECT_THAT(remarks_on(report),
              ElementsAre("collect: gpu[1-2]: /none does not exist",
                          "collect: gpu2: /fifo is neither a file nor a folder"));
  EXPECT_EQ(problems_in(report, "runs/k3f"),
            "collect: not all files were collected\n         gpu3: was lost\n"
            "         to collect the rest: dlaunch collect runs/k3f");
}

}  // namespace
}  // namespace dlaunch
