#include "measure/figures/check_records.h"

#include <gmock/gmock.h>

namespace dlaunch::measure {
namespace {

CheckData sample() {
  CheckData data;
  data.measured.nodes = 4;
  data.measured.exchanges = {{{0, 1}, 2.5, 31.25}, {{2, 3}, 0, 0}};
  data.measured.computes = {{3, 5.5, 12}};
  data.measured.exchanges_alone = {{{{0, 2}, 0.1, 900}, {{1, 3}, 2.4, 30}}};
  data.measured.computes_alone = {{{0, 1, 2}, {1, 3, 4}}};
  data.all_reduce = AllReduce{{0, 2, 3}, 1.75, 1048576, 3};
  data.network = NcclNetwork{"Socket", "NET/IB : No device found."};
  return data;
}

/// Writes lines and reads them back, as the launcher does.
void send(const Record& record, CheckData& data) {
  const auto read = read_record(to_json(record));
  ASSERT_TRUE(read) << read.error().message;
  add_record(*read, data);
}

TEST(CheckRecords, RoundTrip) {
  const CheckData data = sample();
  CheckData back;
  back.measured.nodes = 4;
  for (const auto& one : data.measured.exchanges) send(record_of(one), back);
  for (const auto& one : data.measured.computes) send(record_of(one), back);
  for (const auto& one : data.measured.exchanges_alone) send(record_of(one), back);
  for (const auto& one : data.measured.computes_alone) send(record_of(one), back);
  send(record_of(*data.all_reduce), back);
  send(record_of(*data.network), back);
  EXPECT_EQ(back, data);
}

TEST(CheckRecords, IgnoreRecordsOfUnknownNodes) {
  CheckData data;
  data.measured.nodes = 2;
  add_record(record_of(Exchange{{0, 2}, 1, 1}), data);
  add_record(record_of(Compute{7, 1, 1}), data);
  add_record(Record("exchange"), data);
  add_record(Record("something"), data);
  Record odd("exchange");
  odd.set("a", 1).set("b", 1);
  add_record(odd, data);
  EXPECT_EQ(data.measured, (Measured{2, {}, {}, {}, {}}));
}

TEST(CheckRecords, HeaderAndLackOfTime) {
  CheckData data;
  add_record(Record("header").set("backend", std::string("mpi: Open MPI v4.1.4")), data);
  add_record(Record("out_of_time"), data);
  EXPECT_EQ(data.backend, "mpi: Open MPI v4.1.4");
  EXPECT_TRUE(data.out_of_time);
}

}  // namespace
}  // namespace dlaunch::measure
