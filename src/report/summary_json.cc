#include <cstdint>
#include <optional>

#include "model/signal_names.h"
#include "model/time.h"
#include "report/checkpoints.h"
#include "report/known_causes.h"
#include "report/status_text.h"
#include "report/summary.h"
#include "text/json_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// Increased if a member is removed or its meaning changes, not for new members.
constexpr int kVersion = 1;

/// The summary as JSON. Each member and each rank has its own line, so that people can also read
/// it.
class SummaryDocument {
 public:
  SummaryDocument(const SummaryInput& input, std::string& out)
      : in_(input), report_(input.report), outcome_(input.report.outcome), json_(out) {}

  void write() {
    json_.begin_object();
    member("version").number(kVersion);
    member("run");
    text_or_null(in_.plan == nullptr ? "" : in_.plan->run_id);
    member("name");
    text_or_null(in_.plan == nullptr ? "" : in_.plan->name);
    member("path");
    text_or_null(in_.run_path);
    write_end();
    write_evidence();
    member("metrics");
    write_metrics(json_, in_.metrics, 2);
    member("stalls");
    write_stalls(json_, in_.stalls, 2);
    member("spares");
    write_spares(json_, in_.spares);
    member("collected");
    write_collected();
    write_ranks();
    json_.line(0).end_object();
  }

 private:
  JsonText& member(std::string_view name) { return json_.line(2).key(name); }

  void text_or_null(std::string_view text) { text.empty() ? json_.null() : json_.string(text); }

  void write_end() {
    member("exit_code").number(outcome_.exit_code);
    member("origin").string(outcome_.from_rank ? "rank" : "dlaunch");
    member("cause").string(name_of(outcome_.cause));
    member("detail");
    text_or_null(outcome_.detail);
    member("elapsed_s").billionths(report_.elapsed.count());
    write_ledger();
    member("checkpoint");
    write_checkpoint_of(report_.attempt);
    member("attempt").number(report_.attempt.value);
    write_earlier();
    member("first");
    outcome_.first ? json_.number(outcome_.first->value) : json_.null();
    ranks("perhaps_first", outcome_.perhaps_first);
    ranks("alike", outcome_.alike);
    ranks("left_early", outcome_.left_early);
    ranks("lost_peer", outcome_.lost_peer);
    member("lost_node");
    text_or_null(outcome_.lost_nodes.empty() ? "" : node_name(outcome_.lost_nodes.front().node));
    write_lost_nodes();
    member("signal");
    text_or_null(outcome_.signal == 0 ? "" : signal_name(outcome_.signal));
    write_slurm();
    texts("preflight", in_.preflight);
    member("leftovers").number(report_.leftovers);
    member("port");
    outcome_.port ? json_.number(outcome_.port->port) : json_.null();
    member("port_holder");
    text_or_null(outcome_.port ? outcome_.port->holder : "");
    ranks("stragglers", outcome_.stragglers);
    write_text();
    texts("notes", in_.notes);
  }

  void write_lost_nodes() {
    member("lost_nodes").begin_array();
    for (const LostNode& lost : outcome_.lost_nodes) {
      json_.line(4).begin_object().key("node");
      text_or_null(node_name(lost.node));
      json_.key("what").string(lost.what).key("heard_at");
      time_or_null(lost.heard_at);
      json_.end_object();
    }
    if (!outcome_.lost_nodes.empty()) json_.line(2);
    json_.end_array();
  }

  void texts(std::string_view key, const std::vector<std::string>& texts) {
    member(key).begin_array();
    for (const std::string& text : texts) json_.line(4).string(text);
    if (!texts.empty()) json_.line(2);
    json_.end_array();
  }

  /// What the summary on the screen says, with all evidence.
  void write_text() {
    SummaryInput plain = in_;
    plain.columns = kScreenColumns;
    plain.colour = plain.on_screen = false;
    const std::string text = summary_text(plain);
    std::string_view rest = text;
    member("text").begin_array();
    while (!rest.empty()) json_.line(4).string(take_line(rest));
    if (!text.empty()) json_.line(2);
    json_.end_array();
  }

  void write_ledger() {
    member("ledger").begin_object();
    for (std::size_t line = 0; line < report_.spent.size(); ++line)
      json_.key(kSpentWords[line].key).billionths(report_.spent[line].count());
    json_.end_object();
  }

  void seconds_or_null(const std::optional<MonotonicTime>& time) {
    time ? json_.billionths(time->count()) : json_.null();
  }

  void ranks(std::string_view name, const std::vector<Rank>& all) {
    member(name).begin_array();
    for (const Rank rank : all) json_.number(rank.value);
    json_.end_array();
  }

  void write_slurm() {
    member("slurm");
    if (in_.slurm.job.empty()) {
      json_.null();
      return;
    }
    json_.begin_object().key("job").string(in_.slurm.job).key("ends");
    time_or_null(in_.slurm.ends);
    json_.key("said");
    text_or_null(in_.slurm.said);
    json_.end_object();
  }

  void write_earlier() {
    member("earlier").begin_array();
    for (const FailedAttempt& attempt : report_.earlier) {
      json_.line(4).begin_object();
      json_.key("attempt").number(attempt.attempt.value);
      json_.key("cause").string(name_of(attempt.outcome.cause));
      json_.key("exit_code").number(attempt.outcome.exit_code);
      json_.key("origin").string(attempt.outcome.from_rank ? "rank" : "dlaunch");
      json_.key("first");
      attempt.outcome.first ? json_.number(attempt.outcome.first->value) : json_.null();
      json_.key("ran_s").billionths(attempt.ran.count());
      json_.key("unnoticed_s");
      seconds_or_null(attempt.unnoticed);
      json_.key("stopped_s").billionths(attempt.stopped.count());
      json_.key("again_s");
      seconds_or_null(attempt.again);
      json_.key("steps_lost");
      attempt.steps_lost ? json_.number(*attempt.steps_lost) : json_.null();
      json_.key("wait_s").billionths(attempt.wait.count());
      json_.key("port");
      attempt.outcome.port ? json_.number(attempt.outcome.port->port) : json_.null();
      json_.key("port_holder");
      text_or_null(attempt.outcome.port ? attempt.outcome.port->holder : "");
      json_.key("lost_nodes").begin_array();
      for (const LostNode& lost : attempt.outcome.lost_nodes) text_or_null(node_name(lost.node));
      json_.end_array();
      json_.key("checkpoint");
      write_checkpoint_of(attempt.attempt);
      json_.end_object();
    }
    if (!report_.earlier.empty()) json_.line(2);
    json_.end_array();
  }

  void write_checkpoint_of(Attempt attempt) {
    const auto found = in_.checkpoints.find(attempt);
    if (found == in_.checkpoints.end()) {
      json_.null();
      return;
    }
    json_.begin_object().key("text");
    json_.string(checkpoint_text(found->second, in_.checkpoint_patterns));
    write_checkpoint(json_, found->second);
    json_.end_object();
  }

  void write_collected() {
    if (in_.collected == nullptr) {
      json_.null();
      return;
    }
    json_.begin_array();
    for (const CollectedNode& node : in_.collected->nodes) {
      json_.line(4).begin_object().key("node").string(node.name);
      json_.key("files").number(node.files).key("bytes").number(node.bytes);
      json_.key("problem");
      text_or_null(node.problem);
      json_.end_object();
    }
    json_.line(2).end_array();
  }

  void write_evidence() {
    member("failure");
    text_or_null(name_of_failure(in_));
    member("why");
    text_or_null(why_failed(in_));
    member("advice");
    text_or_null(advice_for(in_));
    member("exception");
    text_or_null(in_.evidence.exception.value_or(""));
    member("where");
    text_or_null(in_.evidence.where.value_or(""));
    member("last_lines").begin_array();
    for (const std::string& line : in_.evidence.last_lines) json_.line(4).string(line);
    if (!in_.evidence.last_lines.empty()) json_.line(2);
    json_.end_array();
  }

  void write_ranks() {
    member("ranks").begin_array();
    for (std::uint32_t i = 0; i < report_.ranks.size(); ++i) {
      json_.line(4).begin_object();
      write_rank(i, report_.ranks[i]);
      json_.end_object();
    }
    if (!report_.ranks.empty()) json_.line(2);
    json_.end_array();
  }

  void write_rank(std::uint32_t rank, const RankEnd& end) {
    json_.key("rank").number(rank).key("node");
    const bool planned = in_.plan != nullptr && rank < in_.plan->ranks.size();
    text_or_null(planned ? in_.plan->nodes[in_.plan->ranks[rank].node.value].name : "");
    json_.key("how").string(name_of(end.how));
    const bool has_status = end.how == RankEnd::How::exited || end.how == RankEnd::How::stopped ||
                            end.how == RankEnd::How::killed;
    json_.key("exit_code");
    has_status && !end.status.signaled ? json_.number(end.status.value) : json_.null();
    json_.key("signal");
    text_or_null(has_status && end.status.signaled ? signal_name(end.status.value) : "");
    json_.key("core_dumped").boolean(has_status && end.status.core_dumped);
    json_.key("out_of_memory");
    text_or_null(end.status.out_of_memory);
    json_.key("gpu_fault");
    text_or_null(end.status.gpu_fault);
    json_.key("mpi");
    text_or_null(name_of(end.status.mpi));
    json_.key("started");
    time_or_null(end.started);
    json_.key("ended");
    time_or_null(end.ended);
    json_.key("error");
    text_or_null(end.start_failure ? describe(*end.start_failure) : "");
  }

  void time_or_null(const std::optional<WallTime>& time) {
    time ? json_.string(time_text(*time)) : json_.null();
  }

  [[nodiscard]] std::string node_name(NodeId node) const {
    const auto planned = in_.plan != nullptr ? in_.plan->find(node) : std::nullopt;
    if (planned) return in_.plan->nodes[planned->value].name;
    const auto found = in_.node_names.find(node);
    return found != in_.node_names.end() ? found->second : "";
  }

  const SummaryInput& in_;
  const RunReport& report_;
  const Outcome& outcome_;
  JsonText json_;
};

}  // namespace

std::string summary_json(const SummaryInput& input) {
  std::string out;
  SummaryDocument(input, out).write();
  out += '\n';
  return out;
}

}  // namespace dlaunch
