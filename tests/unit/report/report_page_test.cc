#include "report/html/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/html/markup.h"
#include "report/html/run_story.h"
#include "report/stacks_read.h"
#include "report/stacks_text.h"

namespace dlaunch {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "</script></pre><script>alert(1)</script>\"'&<b onclick=x>";

std::string at(int second) {
  return time_text(WallTime(std::chrono::seconds(second)));
}

std::string line(int second, const std::string& event, json members = json::object()) {
  members["time"] = at(second);
  members["event"] = event;
  return members.dump() + '\n';
}

/// Two attempts of two ranks: rank 1 fails first, then all is well. Times from 100 s to 150 s.
std::string events() {
  std::string text = line(101, "node-ready", {{"node", 4}});
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int base = attempt == 0 ? 102 : 130;
    text += line(base, "plan-made", {{"attempt", attempt}, {"node_of_rank", {4, 4}}});
    for (int rank = 0; rank < 2; ++rank)
      text += line(base + 1, "rank-started",
                   {{"attempt", attempt}, {"rank", rank}, {"pid", 9}, {"at", at(base + 1)}});
    const auto exited = [&](int second, json members) {
      members["attempt"] = attempt;
      members["at"] = at(second);
      text += line(second, "rank-exited", members);
    };
    if (attempt == 0) {
      exited(110, {{"rank", 1}, {"code", 3}, {"after_signal", false}});
      exited(112, {{"rank", 0}, {"signal", "SIGTERM"}, {"after_signal", true}});
      text += line(113, "restart",
                   {{"attempt", 1}, {"wait_s", 5.0}, {"cause", "exit-code"}, {"first", 1}});
    } else {
      exited(149, {{"rank", 0}, {"code", 0}, {"after_signal", false}});
      exited(149, {{"rank", 1}, {"code", 0}, {"after_signal", false}});
    }
  }
  return text + "no json\n" + line(120, "notice", {{"text", kHostile}});
}

json plan() {
  return {{"nodes", {{{"name", "gpu01"}, {"ranks", {0, 1}}, {"variables", {{"IF", "ib0"}}}}}},
          {"ranks",
           {{{"node", 0}, {"variables", {{"RANK", "0"}, {"X", kHostile}}}},
            {{"node", 0}, {"variables", {{"RANK", "1"}}}}}},
          {"variables", {{"WORLD_SIZE", "2"}}},
          {"passed", {"HOME"}},
          {"secret", {"TOKEN"}},
          {"commands", {{{"argv", {"echo", kHostile}}}}},
          {"reasons", {{"RANK", "its number"}}}};
}

ReportInput input() {
  ReportInput in;
  in.id = "20261120-210142-k3f";
  in.name = kHostile;
  in.state = "done";
  in.text = "done in 50 s";
  in.started = WallTime(std::chrono::seconds(100));
  in.ended = WallTime(std::chrono::seconds(150));
  in.version = "1.0";
  in.nonce = "n0nce";
  in.events = events();
  in.plan_json = plan().dump();
  in.files = {"attempt-1/rank-1.err", "job.yaml"};
  in.folder = "runs/a b/";
  json summary{{"elapsed_s", 50.0},
               {"attempt", 1},
               {"first", nullptr},
               {"ledger", {{"connect_s", 2.0}, {"productive_s", 48.0}}},
               {"text", {"dlaunch: attempt 0 failed", "dlaunch: done in 50 s, 2 ranks", kHostile}},
               {"ranks",
                {{{"node", "gpu01"}, {"how", "exited"}, {"exit_code", 0}},
                 {{"node", kHostile}, {"how", "exited"}, {"exit_code", 0}}}}};
  in.summary_json = summary.dump();
  json samples{
      {"step_s", 10},
      {"nodes",
       {{{"node", "gpu01"},
         {"cores", 2},
         {"cpu", {100, nullptr, 200, 0, 100}},
         {"memory", {1, 1, 1, 1, 1}}}}},
      {"metrics",
       {{{"name", kHostile}, {"low", {1, 1, 1}}, {"mean", {1, 2, 3}}, {"high", {1, 3, 3}}}}}};
  in.samples_json = samples.dump();
  return in;
}

std::string page_of(const ReportInput& in) {
  return report_text(in).page;
}

TEST(RunStoryTest, AttemptsPhasesAndEndsOfRanks) {
  const RunStory story =
      read_story(events(), plan(), json::object(), WallTime(std::chrono::seconds(100)),
                 WallTime(std::chrono::seconds(150)), false);
  EXPECT_EQ(story.length, 50);
  using Kind = PhaseSpan::Kind;
  EXPECT_THAT(story.phases,
              ElementsAre(PhaseSpan{Kind::connect, 0, 0, 1}, PhaseSpan{Kind::prepare, 0, 1, 2},
                          PhaseSpan{Kind::start, 0, 2, 3}, PhaseSpan{Kind::run, 0, 3, 10},
                          PhaseSpan{Kind::stop, 0, 10, 13}, PhaseSpan{Kind::wait, 0, 13, 18},
                          PhaseSpan{Kind::prepare, 0, 18, 30}, PhaseSpan{Kind::start, 1, 30, 31},
                          PhaseSpan{Kind::run, 1, 31, 49}, PhaseSpan{Kind::stop, 1, 49, 50}));
  using End = RankPeriod::End;
  EXPECT_THAT(story.spans,
              ElementsAre(RankPeriod{0, 0, 3, 12, End::stopped,
                                     "was killed by SIGTERM after dlaunch had told it to stop"},
                          RankPeriod{0, 1, 3, 10, End::failed, "exited with code 3"},
                          RankPeriod{1, 0, 31, 49, End::done, "exited with code 0"},
                          RankPeriod{1, 1, 31, 49, End::done, "exited with code 0"}));
  ASSERT_EQ(story.attempts.size(), 2U);
  EXPECT_EQ(story.attempts[0].to, 30);
  EXPECT_THAT(story.attempts[0].node_of_rank, ElementsAre("gpu01", "gpu01"));
  ASSERT_EQ(story.incidents.size(), 3U);
  EXPECT_EQ(story.incidents[0].text, "rank 1 exited with code 3");
  EXPECT_EQ(story.incidents[1].text, "attempt 1 follows after 5.00 s (exit-code, rank 1 first)");
  EXPECT_EQ(story.incidents[2].text, kHostile);
}

TEST(RunStoryTest, ALostNodeTakesItsRanks) {
  const std::string text = line(101, "plan-made", {{"attempt", 0}, {"node_of_rank", {4, 5}}}) +
                           line(102, "rank-started", {{"attempt", 0}, {"rank", 0}}) +
                           line(102, "rank-started", {{"attempt", 0}, {"rank", 1}}) +
                           line(105, "node-lost", {{"node", 5}, {"what", "no answer"}});
  const RunStory story =
      read_story(text, json::object(), json::object(), WallTime(std::chrono::seconds(100)),
                 WallTime(std::chrono::seconds(107)), false);
  ASSERT_EQ(story.spans.size(), 2U);
  EXPECT_EQ(story.spans[0].end, RankPeriod::End::running);
  EXPECT_EQ(story.spans[0].to, 7);
  EXPECT_EQ(story.spans[1].end, RankPeriod::End::lost);
  EXPECT_EQ(story.spans[1].to, 5);
  ASSERT_EQ(story.incidents.size(), 1U);
  EXPECT_EQ(story.incidents[0].text, "node 5: no answer");
}

TEST(RunStoryTest, NodesOfEarlierAttemptsHaveTheirNames) {
  const auto named = [](int node, const char* name) {
    return json{{"node", node}, {"name", name}};
  };
  const std::string text =
      line(101, "plan-made",
           {{"attempt", 0}, {"node_of_rank", {4}}, {"nodes", {named(4, "gpu01")}}}) +
      line(105, "node-lost", {{"node", 4}, {"what", "no answer"}}) +
      line(106, "plan-made",
           {{"attempt", 1}, {"node_of_rank", {7}}, {"nodes", {named(7, "gpu02")}}});
  const RunStory story =
      read_story(text, json::object(), json::object(), WallTime(std::chrono::seconds(100)),
                 WallTime(std::chrono::seconds(110)), false);
  ASSERT_EQ(story.attempts.size(), 2U);
  EXPECT_THAT(story.attempts[0].node_of_rank, ElementsAre("gpu01"));
  EXPECT_THAT(story.attempts[1].node_of_rank, ElementsAre("gpu02"));
  ASSERT_EQ(story.incidents.size(), 1U);
  EXPECT_EQ(story.incidents[0].text, "gpu01: no answer");
}

TEST(RunStoryTest, AStallIsAPhaseUntilRanksPrintAgain) {
  const std::string begin = line(101, "plan-made", {{"attempt", 0}, {"node_of_rank", {4}}}) +
                            line(102, "rank-started", {{"attempt", 0}, {"rank", 0}}) +
                            line(120, "stall", {{"silence_s", 8.0}, {"verdict", "hang"}});
  const json samples{{"step_s", 10}, {"nodes", {{{"output", {1, 1, 9, 0, 5}}}}}};
  const auto phases = [&](const std::string& more, const json& seen) {
    return read_story(begin + more, json::object(), seen, WallTime(std::chrono::seconds(100)),
                      WallTime(std::chrono::seconds(150)), false)
        .phases;
  };
  using Kind = PhaseSpan::Kind;
  const PhaseSpan prepare{Kind::prepare, 0, 0, 1};
  const PhaseSpan start{Kind::start, 0, 1, 2};
  const PhaseSpan run{Kind::run, 0, 2, 12};
  EXPECT_THAT(phases("", samples),
              ElementsAre(prepare, start, run, PhaseSpan{Kind::stalled, 0, 12, 40},
                          PhaseSpan{Kind::run, 0, 40, 50}));
  EXPECT_THAT(phases(line(130, "cancel"), json::object()),
              ElementsAre(prepare, start, run, PhaseSpan{Kind::stalled, 0, 12, 30},
                          PhaseSpan{Kind::stop, 0, 30, 50}));
}

TEST(ReportPageTest, WhatTheJobSaysIsTextOnly) {
  const std::string page = page_of(input());
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(page, Not(HasSubstr("<b onclick")));
  std::size_t scripts = 0;
  for (auto at = page.find("</script>"); at != std::string::npos;
       at = page.find("</script>", at + 1))
    ++scripts;
  EXPECT_EQ(scripts, 2U) << "the data of the environment and our script";
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
}

TEST(ReportPageTest, TheCauseComesFirstInTheWordsOfTheSummary) {
  const std::string page = page_of(input());
  const auto headline = page.find("<h1>done in 50 s, 2 ranks</h1>");
  ASSERT_NE(headline, std::string::npos);
  EXPECT_LT(headline, page.find("<section"));
  EXPECT_NE(page.find("dlaunch: attempt 0 failed", headline), std::string::npos);
  ReportInput old = input();
  old.summary_json = "";
  EXPECT_THAT(page_of(old), HasSubstr("<h1>done in 50 s</h1>"));
}

TEST(ReportPageTest, LinksLeadToFilesThatExist) {
  const std::string page = page_of(input());
  EXPECT_THAT(page, HasSubstr("<a href=\"runs/a%20b/attempt-1/rank-1.err\">err</a>"));
  EXPECT_THAT(page, Not(HasSubstr("rank-0.err")));
  EXPECT_THAT(page, Not(HasSubstr("href=\"http")));
}

TEST(ReportPageTest, EnvironmentHasWhatRanksShareOnce) {
  const std::string page = page_of(input());
  const std::string begin = "id=\"envdata\">";
  const auto from = page.find(begin) + begin.size();
  const json env = json::parse(page.substr(from, page.find("</script>", from) - from));
  EXPECT_EQ(env["all"], json({{"WORLD_SIZE", "2"}}));
  EXPECT_EQ(env["nodes"], json::array({{{"IF", "ib0"}}}));
  EXPECT_EQ(env["of"], json({0, 0}));
  EXPECT_EQ(env["names"], json({"RANK", "X"}));
  EXPECT_EQ(env["ranks"], json::array({json::array({"0", kHostile}), json::array({"1", nullptr})}));
  EXPECT_THAT(page, HasSubstr("Secret: <code>TOKEN</code>"));
}

TEST(ReportPageTest, PlotsBreakWhereNothingIsKnown) {
  const std::string page = page_of(input());
  EXPECT_THAT(page, HasSubstr("d=\"M0 50h0M2 0h0l1 100 1-50\""));
  EXPECT_THAT(page, HasSubstr("viewBox=\"-0.5 0 5 100\""));
  EXPECT_THAT(page, HasSubstr("d=\"M0 1000h0l1-500 1-500\"")) << "the mean of the metric";
  EXPECT_THAT(page, HasSubstr("d=\"M0 1000L1 1000L2 1000L2 0L1 0L0 1000Z\"")) << "its band";
}

/// Drawn in 100 units of height; the unit of the text and of data-u is what the reader sees.
TEST(ReportPageTest, WhatNodesUseHasPlotsAndPeaks) {
  ReportInput in = input();
  in.samples_json = json{{"step_s", 10},
                         {"nodes",
                          {{{"node", "gpu01"},
                            {"cores", 8},
                            {"cpu", {100, 400, 200, 0, 100}},
                            {"memory", {1000, 4000, 2000, 0, 1000}},
                            {"gpu", {0, 50, 90, nullptr, 25}},
                            {"gpu_memory", {20'000, 80'000, 40'000, 0, 20'000}},
                            {"network", {1'000'000, 4'000'000, 0, 0, 2'000'000}},
                            {"output", {100, 400, 200, 0, 100}}}}}}
                        .dump();
  const std::string page = page_of(in);
  const auto expect_plot = [&](const std::string& title, const std::string& full,
                               const std::string& scale, const std::string& line,
                               const std::string& peak) {
    EXPECT_THAT(page, HasSubstr("<th>" + title + " <small>full height: " + full + "</small></th>"));
    const auto at = page.find("<td data-q=\"" + title + "\">");
    ASSERT_NE(at, std::string::npos) << title;
    const std::string cell = page.substr(at, page.find("</td>", at) - at);
    EXPECT_THAT(cell, HasSubstr(scale)) << title;
    EXPECT_THAT(cell, HasSubstr(" d=\"" + line + "\"")) << title;
    EXPECT_THAT(cell, HasSubstr("<small>peak " + peak + "</small>")) << title;
  };
  expect_plot("CPU", "8.00 cores", "data-l=\"0\" data-m=\"8\" data-u=\"cores\"",
              "M0 87h0l1-37 1 25 1 25 1-13", "4.00 cores");
  const std::string quarters = "M0 75h0l1-75 1 50 1 50 1-25";
  expect_plot("Memory", "4.0 GB", "data-m=\"4e+09\" data-u=\"B\"", quarters, "4.0 GB");
  expect_plot("GPU", "100 %", "data-m=\"100\" data-u=\"%\"", "M0 100h0l1-50 1-40M4 75h0", "90 %");
  expect_plot("GPU memory", "80 GB", "data-m=\"8e+10\" data-u=\"B\"", quarters, "80 GB");
  expect_plot("Network", "4.0 MB/s", "data-m=\"4000000\" data-u=\"B/s\"",
              "M0 75h0l1-75 1 100 1 0 1-50", "4.0 MB/s");
  expect_plot("Output", "400 bytes/s", "data-m=\"400\" data-u=\"B/s\"", quarters, "400 bytes/s");
}

TEST(ReportPageTest, ARunThatHasJustBegunHasAPage) {
  ReportInput in;
  in.id = "20261120-210142-k3f";
  in.state = "running";
  in.text = "running since 1 s";
  in.started = WallTime(std::chrono::seconds(100));
  in.ended = in.started;
  const std::string page = page_of(in);
  EXPECT_THAT(page, HasSubstr("<h1>running since 1 s</h1>"));
}

TEST(ReportPageTest, ADamagedFileCostsOnlyItsParts) {
  ReportInput in = input();
  in.samples_json = "{";
  in.summary_json = R"({"text": )" + std::string(100'000, '[');
  const std::string page = page_of(in);
  EXPECT_THAT(page, HasSubstr("samples.json is damaged: no plots</p>"));
  EXPECT_THAT(page, HasSubstr("summary.json is damaged: no ledger, attempts or ends of ranks</p>"));
  EXPECT_THAT(page, HasSubstr("<section id=\"plan\">"));
  EXPECT_THAT(page, HasSubstr("<td>exited with code 0</td>")) << "ranks, as events.jsonl has them";
  in.samples_json = R"({"nodes": [1, {"cpu": "x"}], "metrics": [null], "step_s": -1e300})";
  in.summary_json =
      R"({"ranks": [1, {}], "ledger": [], "earlier": [1], "text": 5, "elapsed_s": 1})";
  in.plan_json = R"({"ranks": [1, {"node": 9e300}], "nodes": 7, "commands": [3]})";
  EXPECT_THAT(page_of(in), HasSubstr("</html>")) << "of another dlaunch";
}

TEST(ReportPageTest, DeepJsonIsDamaged) {
  ReportInput in = input();
  in.summary_json = R"({"text": )" + std::string(64, '[') + std::string(64, ']') + '}';
  EXPECT_THAT(page_of(in), HasSubstr("summary.json is damaged"));
  in.summary_json = R"({"text": [")" + std::string(100, '[') + R"(\"["]})";
  EXPECT_THAT(page_of(in), Not(HasSubstr("is damaged"))) << "brackets in a string";
}

TEST(ReportPageTest, ValuesOfVariablesWithSecretNamesAreMasked) {
  ReportInput in = input();
  json plan = json::parse(in.plan_json);
  plan["variables"]["API_KEY"] = "sk-0123456789";
  plan["variables"]["A_TOKEN"] = "short";
  plan["nodes"][0]["variables"]["NODE_PASSWORD"] = "of-the-node";
  plan["ranks"][1]["variables"]["DB_PASS"] = "of-a-rank";
  plan["commands"] = {{{"argv", {"train", "--key=sk-0123456789"}}}};
  in.plan_json = plan.dump();
  in.summary_json = json{{"text", {"dlaunch: FAILED: bad key sk-0123456789!"}}}.dump();
  in.preflight = "the node says of-the-node";
  in.events += line(121, "notice", {{"text", "key sk-0123456789, of-a-rank"}});
  in.job_yaml =
      "name: a\nenv:\n  API_KEY: sk-0123456789\n  LR: '0.1'\n  OTHER_SECRET: 'only-in-job'\n"
      "  PEM_KEY: |\n    first-line-of-it\n    second\n\nenv_secret: [HF_TOKEN]\n"
      "command: [train, --key=sk-0123456789, only-in-job]\n";
  const ReportText text = report_text(in);
  for (const char* secret : {"sk-0123456789", "of-the-node", "of-a-rank", "only-in-job", "short<",
                             "\"short\"", "first-line-of-it", "second\n"}) {
    EXPECT_THAT(text.page, Not(HasSubstr(secret)));
    EXPECT_THAT(text.trace, Not(HasSubstr(secret)));
  }
  EXPECT_THAT(text.page, HasSubstr("<h1>FAILED: bad key ***!</h1>"));
  EXPECT_THAT(text.page, HasSubstr("<td>API_KEY</td><td>***</td>"));
  EXPECT_THAT(text.page, HasSubstr("\"API_KEY\": \"***\""));
  EXPECT_THAT(text.page, HasSubstr("  LR: &#39;0.1&#39;\n  OTHER_SECRET: &#39;***&#39;\n"
                                   "  PEM_KEY: &#39;***&#39;\nenv_secret: [HF_TOKEN]\n"
                                   "command: [train, --key=***, ***]\n"));
  EXPECT_THAT(text.trace, HasSubstr("key ***, ***"));
}

TEST(ReportPageTest, ARunWhoseLauncherWasKilledEndsWithItsLastSample) {
  ReportInput in = input();
  in.state = "lost";
  in.summary_json = "";
  in.ended = WallTime(std::chrono::seconds(140));
  in.events = line(101, "plan-made", {{"attempt", 0}, {"node_of_rank", {4}}}) +
              line(102, "rank-started", {{"attempt", 0}, {"rank", 0}});
  const std::string page = page_of(in);
  EXPECT_THAT(page, HasSubstr("data-length=\"50\"")) << "5 samples of 10 s";
  EXPECT_THAT(page, HasSubstr("<rect class=\"b lost\""));
  EXPECT_THAT(page, HasSubstr("<td>gpu01</td><td>was lost with the launcher</td>"));
}

TEST(ReportPageTest, StacksOfAStalledRunStandOpenBeforeItsMetrics) {
  ReportInput in = input();
  in.stacks = {{"1970-01-01T00:01:50.000000Z.json", "{}"},
               {"1970-01-01T00:01:51.500000Z.json", "{}"}};
  EXPECT_GT(page_of(in).find("id=\"stacks\""), page_of(in).find("id=\"metrics\""));
  in.events += line(112, "stall", {{"silence_s", 5.0}, {"verdict", "hang"}});
  const std::string page = page_of(in);
  EXPECT_LT(page.find("id=\"stacks\""), page.find("id=\"metrics\""));
  EXPECT_THAT(page, HasSubstr("<details><summary>after 10.0 s</summary>"));
  EXPECT_THAT(page, HasSubstr("<details open><summary>after 11.5 s</summary>"));
}

TEST(ReportPageTest, StepsPerSecondAreThoseOfTheFastestRankWithoutTheLastSample) {
  ReportInput in = input();
  in.samples_json =
      R"({"step_s": 10, "metrics": [{"name": "step", "low": [0, 5, 2, 15],
          "mean": [0, 7, 11, 17], "high": [0, 10, 20, 21]}]})";
  const std::string page = page_of(in);
  EXPECT_THAT(page, HasSubstr("<b>steps per second</b><span class=\"last\">1</span>"));
  EXPECT_THAT(page, HasSubstr("data-l=\"1\" data-m=\"1\""));
}

TEST(ReportPageTest, TheTraceHasATrackForEachRank) {
  const json events = json::parse(report_text(input()).trace)["traceEvents"];
  std::vector<std::string> tracks;
  std::size_t spans = 0;
  for (const json& one : events) {
    if (one["name"] == "thread_name" && one["pid"] != 1) tracks.push_back(one["args"]["name"]);
    if (one["ph"] == "X" && one["pid"] != 1) ++spans;
  }
  EXPECT_THAT(tracks, ElementsAre("rank 0", "rank 1"));
  EXPECT_EQ(spans, 4U);
}

TEST(StacksReadTest, ReadsWhatIsWritten) {
  StacksReply reply;
  reply.attempt = 2;
  reply.world = 4;
  reply.silent = {"gpu02: no answer"};
  RankStacks rank;
  rank.rank = Rank(3);
  rank.host = "gpu01";
  rank.remarks = {"a remark"};
  rank.unanswered = {"10.0.0.2"};
  ThreadStack thread{7, "loader", "S", "reading /x", {}, 2};
  thread.frames = {{StackFrame::Kind::kernel, "read", "", 0},
                   {StackFrame::Kind::python, "main", "a.py", 3}};
  rank.processes = {{5, 1, "python a.py", {thread}, 1, 2, 3, 4}};
  reply.ranks = {rank};
  const auto read = parse_stacks(stacks_json(reply));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, reply);
  EXPECT_FALSE(parse_stacks("{}"));
}

TEST(MarkupTest, LinksAndNumbersAreShort) {
  EXPECT_EQ(short_number(1e308, 2).size(), 309U);
  EXPECT_EQ(url_path("a b/ü#?.out"), "a%20b/%C3%BC%23%3F.out");
  EXPECT_EQ(percent(0.5), "50%");
  EXPECT_EQ(percent(1.0 / 3), "33.333%");
  EXPECT_EQ(short_number(-0.0001, 2), "0");
  EXPECT_EQ(html_lines("a\nbc", 3), "a\nb\n[... 1 byte more]\n");
}

}  // namespace
}  // namespace dlaunch
