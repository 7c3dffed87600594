// The table of `dlaunch bench`, with the columns of nccl-tests. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/figures/operation.h"
#include "measure/figures/record.h"
#include "measure/figures/statistics.h"

namespace dlaunch::measure {

/// What is measured, and by which ranks.
struct BenchHeader {
  Operation operation = Operation::all_reduce;
  std::string type;                  // "float32"
  std::string op;                    // "sum"; empty: no reduction
  std::int64_t root = -1;            // -1: none
  std::string backend;               // "mpi: Open MPI v4.1.4"
  std::vector<std::string> hosts;    // by rank
  std::vector<std::string> devices;  // by rank
  std::uint64_t warmup = 0;
  std::uint64_t iterations = 0;
  bool operator==(const BenchHeader&) const = default;
};

/// One size, out of place or in place. Times in microseconds; an iteration's time is that of its
/// slowest rank.
struct BenchResult {
  double time = 0;                     // mean over back-to-back iterations
  double algbw = 0;                    // GB/s
  double busbw = 0;                    // GB/s
  std::optional<std::uint64_t> wrong;  // elements; nullopt: not checked
  Summary each;                        // over the iterations
  bool operator==(const BenchResult&) const = default;
};

struct BenchRow {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::optional<BenchResult> out_of_place;  // nullopt: the operation has none
  std::optional<BenchResult> in_place;
  bool operator==(const BenchRow&) const = default;
};

/// These read the records "header" and "size" of the mode "bench".
void add_ranks(const Record& record, BenchHeader& header);
[[nodiscard]] BenchRow read_row(const Record& record, const BenchHeader& header);
[[nodiscard]] std::uint64_t wrong_elements(const BenchRow& row);

/// Lines of at most 104 columns, each with a newline.
[[nodiscard]] std::string table_head(const BenchHeader& header);
[[nodiscard]] std::string table_row(const BenchRow& row, const BenchHeader& header);

/// A line about missing rows. `error`: why rows are missing, in one sentence; empty: none are, and
/// there is no line.
[[nodiscard]] std::string incomplete_text(std::string_view error);

/// The whole table as one JSON object. `error`: why rows are missing; empty: none are.
[[nodiscard]] std::string to_json(const BenchHeader& header, const std::vector<BenchRow>& rows,
                                  std::string_view error);

/// Appends the member "complete" and, if that is false, "error".
void append_completeness(std::string& out, std::string_view error);

}  // namespace dlaunch::measure
