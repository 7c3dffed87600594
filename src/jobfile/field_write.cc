#include "jobfile/field_write.h"

#include <optional>
#include <tuple>

#include "model/rank_list.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

void begin_host(JobSpec& job, const Value& value) {
  if (is_word(value)) {
    job.hosts.from_scheduler = true;
  } else {
    job.hosts.hosts.emplace_back();
  }
}

void put_backoff(JobSpec& job, const Value& value) {
  std::tie(job.restart.backoff_min, job.restart.backoff_max) =
      std::get<std::pair<Duration, Duration>>(value);
}

void put_console(JobSpec& job, const Value& value) {
  if (is_word(value)) {
    job.logs.console = static_cast<Logs::Console>(word_value(value));
    return;
  }
  job.logs.console = Logs::Console::ranks;
  assign(job.logs.console_ranks, value);
}

void put_metrics(JobSpec& job, const Value& value) {
  assign(job.metrics, value);
  if (auto file = job.metrics.extract("prometheus")) job.prometheus = std::move(file.mapped());
}

namespace {

/// "rank0", "rank 3".
std::optional<std::uint32_t> rank_in(std::string_view text) {
  constexpr std::string_view kRank = "rank";
  constexpr std::uint32_t kMostRanks = 1 << 20;
  if (!text.starts_with(kRank)) return std::nullopt;
  const auto ranks = parse_ranks(std::string(trimmed(text.substr(kRank.size()))), kMostRanks);
  return ranks && ranks->size() == 1 ? std::optional(ranks->front()) : std::nullopt;
}

}  // namespace

void put_stdin(JobSpec& job, const Value& value) {
  const std::string& text = std::get<std::string>(value);
  job.stdin_rank = rank_in(text).value_or(0);
  if (text == "auto" || text == "none") {
    job.stdin_for = text == "auto" ? StdinFor::automatic : StdinFor::none;
  } else {
    job.stdin_for = job.stdin_rank == 0 ? StdinFor::rank0 : StdinFor::rank;
  }
}

std::string problem_of_stdin(std::string_view text) {
  if (text == "auto" || text == "none" || rank_in(text)) return "";
  return '"' + std::string(text) + "\" is not one of auto, none, rank0, rank1, ...";
}

}  // namespace dlaunch::jobfile
