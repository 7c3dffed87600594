#include "measure/figures/bench_table.h"

#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace dlaunch::measure {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMostColumns = 104;

BenchHeader header_of(Operation operation, std::size_t ranks) {
  BenchHeader header;
  header.operation = operation;
  header.type = "float32";
  header.op = reduces(operation) ? "sum" : "";
  header.root = has_root(operation) ? 0 : -1;
  header.backend = "mpi: Open MPI v4.1.4";
  header.hosts.assign(ranks, "node1");
  header.devices.assign(ranks, "host memory");
  header.warmup = 5;
  header.iterations = 3;
  return header;
}

Record record_of() {
  Record record("size");
  record.set("bytes", 1048576.0).set("count", 262144.0);
  record.set("out_mean", 100.0).set("out_wrong", 0.0);
  record.set("out_times", std::vector<double>{90, 100, 110});
  record.set("in_mean", 200.0).set("in_wrong", 3.0);
  record.set("in_times", std::vector<double>{190, 200, 210});
  return record;
}

void expect_narrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kMostColumns) << line;
}

TEST(BenchRow, ComputesBandwidthsFromItsTime) {
  const BenchRow row = read_row(record_of(), header_of(Operation::all_reduce, 4));
  ASSERT_TRUE(row.out_of_place && row.in_place);
  EXPECT_DOUBLE_EQ(row.out_of_place->algbw, 10.48576);
  EXPECT_DOUBLE_EQ(row.out_of_place->busbw, 10.48576 * 1.5);
  EXPECT_EQ(row.out_of_place->each.median, 100);
  EXPECT_EQ(wrong_elements(row), 3U);
}

TEST(BenchTable, HasTheColumnsOfNcclTests) {
  const BenchHeader header = header_of(Operation::all_reduce, 4);
  const BenchRow row = read_row(record_of(), header);
  EXPECT_EQ(
      table_row(row, header),
      "    1048576     262144  float32  sum    -     100.0   10.49   15.73     0    200.0    5.24"
      "    7.86     3\n");
  EXPECT_THAT(table_head(header), HasSubstr("4 ranks"));
  EXPECT_THAT(table_head(header), HasSubstr("4 x node1"));
  EXPECT_THAT(table_head(header), HasSubstr("Open MPI v4.1.4"));
}

TEST(BenchTable, LinesHaveAtMost104Columns) {
  for (const Operation operation : all_operations()) {
    const BenchHeader header = header_of(operation, 4);
    expect_narrow(table_head(header));
    BenchRow row = read_row(record_of(), header);
    row.bytes = std::uint64_t{4} << 30U;
    row.count = row.bytes / 4;
    expect_narrow(table_row(row, header));
  }
}

TEST(BenchTable, CutsALongListOfHosts) {
  BenchHeader header = header_of(Operation::all_reduce, 0);
  for (int i = 0; i < 400; ++i) header.hosts.push_back("a-long-host-name-" + std::to_string(i / 8));
  header.devices.assign(400, "NVIDIA H200");
  expect_narrow(table_head(header));
  EXPECT_THAT(table_head(header), HasSubstr("and those of 304 more"));
}

TEST(BenchTable, CallsOneRankACopy) {
  EXPECT_THAT(table_head(header_of(Operation::all_reduce, 1)), HasSubstr("a copy in memory"));
}

TEST(BenchTable, MissingValuesAreDashes) {
  Record record("size");
  record.set("bytes", 8.0).set("count", 2.0).set("in_mean", 1.0);
  const BenchHeader header = header_of(Operation::broadcast, 2);
  EXPECT_EQ(
      table_row(read_row(record, header), header),
      "          8          2  float32    -    0         -       -       -     -     1.00    0.01"
      "    0.01   n/a\n");
}

TEST(BenchJson, IsTheTable) {
  const BenchHeader header = header_of(Operation::all_reduce, 4);
  const BenchRow row = read_row(record_of(), header);
  const auto json = nlohmann::json::parse(to_json(header, {row, row}, ""));
  EXPECT_EQ(json["operation"], "all_reduce");
  EXPECT_EQ(json["ranks"], 4);
  ASSERT_EQ(json["rows"].size(), 2U);
  EXPECT_EQ(json["rows"][1]["bytes"], 1048576);
  EXPECT_EQ(json["rows"][1]["in_place"]["wrong"], 3);
  EXPECT_EQ(json["rows"][1]["out_of_place"]["median_us"], 100);
  EXPECT_DOUBLE_EQ(json["rows"][1]["out_of_place"]["busbw"].get<double>(), row.out_of_place->busbw);
}

TEST(BenchJson, SaysWhetherItIsComplete) {
  const BenchHeader header = header_of(Operation::all_reduce, 4);
  const BenchRow row = read_row(record_of(), header);
  auto json = nlohmann::json::parse(to_json(header, {row}, ""));
  EXPECT_EQ(json["complete"], true);
  EXPECT_FALSE(json.contains("error"));
  json = nlohmann::json::parse(to_json(header, {row}, "rank 1 on \"node2\" has failed"));
  EXPECT_EQ(json["complete"], false);
  EXPECT_EQ(json["error"], "rank 1 on \"node2\" has failed");
  EXPECT_EQ(json["rows"].size(), 1U) << "only what was measured";
}

TEST(BenchTable, SaysThatItIsIncomplete) {
  EXPECT_EQ(incomplete_text(""), "");
  EXPECT_EQ(incomplete_text("failed after 2 s"), "# incomplete: failed after 2 s\n");
  expect_narrow(
      incomplete_text("failed after 12.4 s: rank 5 on a-node-with-a-name-of-its-own was "
                      "killed by SIGKILL, which no process of dlaunch had sent to it"));
}

TEST(BenchJson, OmitsMissingMembers) {
  BenchHeader header = header_of(Operation::broadcast, 2);
  Record record("size");
  record.set("bytes", 8.0).set("count", 2.0).set("in_mean", 1.0);
  const auto json = nlohmann::json::parse(to_json(header, {read_row(record, header)}, ""));
  EXPECT_TRUE(json["rows"][0]["out_of_place"].is_null());
  EXPECT_TRUE(json["rows"][0]["in_place"]["wrong"].is_null());
  EXPECT_TRUE(nlohmann::json::parse(to_json(header, {}, ""))["rows"].empty());
}

}  // namespace
}  // namespace dlaunch::measure
