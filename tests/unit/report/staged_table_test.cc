#include "report/staged_table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

const WallTime kNow{std::chrono::seconds(1795208502)};  // 2026-11-20 21:01:42 UTC

StagedTarget data() {
  StagedTarget target;
  target.target = "/local/data";
  target.source = "login:/data.tar";
  target.unpacked = true;
  target.staged_at = std::chrono::nanoseconds(kNow.time_since_epoch()).count() - 1'000'000'000;
  target.by = "run 20261120-210142-k3f";
  target.files = 12;
  target.bytes = 1'200'000;
  return target;
}

TEST(StagedTable, NodesWithTheSameShareALine) {
  StagedTarget other = data();
  other.users = {"run b", "run c"};
  const std::string text = staged_table(
      {{"gpu01", {data()}}, {"gpu02", {data()}}, {"gpu03", {other}}}, kNow, date_parts);
  EXPECT_EQ(
      text,
      "NODES       TARGET       SIZE    STAGED  BY                       STATE                   "
      "FROM\n"
      "gpu[01-02]  /local/data  1.2 MB  21:01   run 20261120-210142-k3f  -                       "
      "login:/data.tar, unpacked\n"
      "gpu03       /local/data  1.2 MB  21:01   run 20261120-210142-k3f  in use by run b, run c  "
      "login:/data.tar, unpacked\n");
  EXPECT_EQ(staged_table({{"gpu01"}}, kNow, date_parts), "nothing was staged on the nodes\n");
}

TEST(StagedTable, WhatANodeSaysCannotControlTheTerminal) {
  StagedTarget target = data();
  for (std::string* text : {&target.target, &target.source, &target.by, &target.problem})
    *text = "\x1b]0;x\a\x1b[31m\nred\r";
  target.users = {"\x1b[2J"};
  const std::vector<StagedOnNode> nodes{{"gpu01", {target}, "\x1b[1m", false}};
  for (const std::string& text : {staged_table(nodes, kNow, date_parts), cleaned_text(nodes, false),
                                  staged_problems(nodes), staged_json(nodes, true)}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << text;
    EXPECT_THAT(text, Not(HasSubstr("\r"))) << text;
  }
}

TEST(StagedTable, WhatWasRemovedAndWhatWasNot) {
  StagedTarget used = data();
  used.files = used.bytes = 0;
  used.users = {"run b"};
  used.problem = "is in use by run b";
  StagedTarget failed = data();
  failed.files = 1;
  failed.bytes = 300'000;
  failed.problem = "/local/data/x: Permission denied";
  failed.failed = true;
  const std::vector<StagedOnNode> nodes{
      {"gpu01", {data()}}, {"gpu02", {data()}}, {"gpu03", {used}}, {"gpu04", {failed}}};
  EXPECT_EQ(cleaned_text(nodes, false),
            "gpu[01-02]: /local/data: removed 12 files, 1.2 MB\n"
            "gpu03: /local/data: is in use by run b\n"
            "gpu04: /local/data: removed 1 file, 300 kB\n"
            "freed 2.7 MB on all nodes together\n");
  EXPECT_EQ(staged_problems(nodes), "gpu04: /local/data: /local/data/x: Permission denied");
  EXPECT_EQ(staged_problems({{"gpu01", {used}}}), "");
  EXPECT_EQ(cleaned_text({{"gpu01"}}, false), "nothing was staged on the nodes\n");
  EXPECT_THAT(cleaned_text({{"gpu01"}}, true), HasSubstr("the same command with --list"));
}

TEST(StagedTable, JsonHasEveryNode) {
  StagedTarget unknown = data();
  unknown.staged_at = 0;
  unknown.by.clear();
  unknown.users = {"run b"};
  const auto json = nlohmann::json::parse(staged_json(
      {{"gpu01", {data()}}, {"gpu02", {unknown}}, {"gpu03", {}, "no route", true}}, false));
  ASSERT_EQ(json.size(), 3U);
  EXPECT_EQ(json[0]["node"], "gpu01");
  EXPECT_EQ(json[0]["target"], "/local/data");
  EXPECT_EQ(json[0]["staged"], "2026-11-20T21:01:41.000000Z");
  EXPECT_EQ(json[0]["bytes"], 1'200'000);
  EXPECT_TRUE(json[1]["staged"].is_null());
  EXPECT_TRUE(json[1]["by"].is_null());
  EXPECT_EQ(json[1]["used_by"], nlohmann::json::array({"run b"}));
  EXPECT_EQ(json[2], nlohmann::json({{"node", "gpu03"}, {"problem", "no route"}}));
}

}  // namespace
}  // namespace dlaunch
