#include "report/run_values.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "jobfile/shell_quote.h"
#include "jobfile/yaml_reader.h"
#include "model/rank_list.h"
#include "report/json_values.h"
#include "report/metric_number.h"
#include "runs/job_record.h"
#include "runs/run_record.h"
#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using nlohmann::json;

class Section {
 public:
  Section(std::string name, const std::string& id) : id_(id) { section_.name = std::move(name); }

  /// Empty values are left out.
  void add(const std::string& name, std::string text) {
    for (auto at = text.find(id_); !id_.empty() && at != std::string::npos; at = text.find(id_, at))
      text.replace(at, id_.size(), "ID");
    if (!text.empty()) section_.values.push_back({plain_line(name), {plain_line(text), {}}});
  }
  void add_number(const std::string& name, double number, std::string text) {
    section_.values.push_back({plain_line(name), {std::move(text), number}});
  }
  void add_member(const std::string& name, const json& value, const std::string& prefix) {
    if (name.find("PORT") == std::string::npos) add(prefix + name, json_text_of(value));
  }
  void add_members(const json& object, const std::string& prefix) {
    if (!object.is_object()) return;
    for (const auto& [name, value] : object.items()) add_member(name, value, prefix);
  }
  [[nodiscard]] RunSection take() { return std::move(section_); }

 private:
  RunSection section_;
  const std::string& id_;
};

/// Adds the values of a job file ("stage[0].from"); a list of scalars becomes one line.
void add_node(const jobfile::Document& document, jobfile::NodeId id, const std::string& name,
              Section& section) {
  const jobfile::Node& node = document[id];
  if (node.kind == jobfile::NodeKind::scalar) return section.add(name, node.text);
  if (node.kind == jobfile::NodeKind::mapping) {
    for (const auto& [key, value] : document.entries(id))
      add_node(document, value, (name.empty() ? "" : name + '.') + document[key].text, section);
    return;
  }
  const bool is_flat = std::all_of(node.items.begin(), node.items.end(), [&](jobfile::NodeId item) {
    return document[item].kind == jobfile::NodeKind::scalar;
  });
  if (is_flat) {
    section.add(name, joined(node.items, " ", [&](jobfile::NodeId item) {
                  return jobfile::shell_quote(document[item].text);
                }));
    return;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i)
    add_node(document, node.items[i], name + '[' + std::to_string(i) + ']', section);
}

Result<RunSection> job_values(const RunTexts& texts) {
  Section section("job", texts.id);
  // Leaves out comments, which may be long; origin_values() reads them.
  std::string job;
  for (std::string_view rest = texts.job_yaml; !rest.empty();) {
    const std::string_view line = take_line(rest);
    if (!line.starts_with('#')) job.append(line).append(1, '\n');
  }
  if (trimmed(job).empty()) return section.take();
  const jobfile::Sources sources{{"job.yaml of run " + texts.id, job}};
  jobfile::Document document;
  jobfile::Diagnostics diagnostics(sources);
  const auto root = jobfile::read_yaml(sources, 0, document, diagnostics);
  if (!root) return fail(exit_code::kUsage, "job.yaml of run " + texts.id + " is damaged");
  add_node(document, *root, "", section);
  return section.take();
}

RunSection origin_values(const RunTexts& texts) {
  Section section("origin", texts.id);
  const RecordedOrigin origin = parse_job_record(texts.job_yaml);
  section.add("machine", origin.host);
  section.add("dlaunch", origin.version);
  section.add("Python environment", origin.python_environment);
  section.add("git commit", origin.commit);
  section.add("options", jobfile::shell_line(origin.again));
  return section.take();
}

RunSection plan_values(const RunTexts& texts, const json& plan) {
  Section section("plan", texts.id);
  for (const char* name : {"framework", "launch", "workdir"})
    section.add(name, json_text_of(json_member(plan, name)));
  const json& ranks = json_member(plan, "ranks");
  if (ranks.is_array()) section.add("ranks", std::to_string(ranks.size()));
  const json& reasons = json_member(plan, "reasons");
  for (const auto& [name, value] : json_member(plan, "variables").items()) {
    // Variables with this reason (from plan/user_env.cc) are in the section "job" already.
    if (json_text_of(json_member(reasons, name.c_str())) != "env of the job")
      section.add_member(name, value, "");
  }
  for (const char* name : {"passed", "secret", "not_passed"})
    section.add(name, json_text_of(json_member(plan, name)));
  for (std::size_t i = 0; ranks.is_array() && i < ranks.size(); ++i) {
    const std::string prefix = "rank " + std::to_string(i) + ' ';
    for (const char* name : {"role", "cpus", "gpus"})
      section.add(prefix + name, json_text_of(json_member(ranks[i], name)));
    section.add_members(json_member(ranks[i], "variables"), prefix);
  }
  return section.take();
}

RunSection node_values(const RunTexts& texts, const json& plan) {
  Section section("nodes", texts.id);
  const json& nodes = json_member(plan, "nodes");
  if (!nodes.is_array()) return section.take();
  for (const json& node : nodes) {
    std::vector<Rank> ranks;
    for (const json& rank : json_member(node, "ranks")) {
      if (rank.is_number_unsigned()) ranks.emplace_back(rank.get<std::uint32_t>());
    }
    const std::string name = json_text_of(json_member(node, "name"));
    section.add(name,
                ranks.size() == 1 ? "rank " + rank_ranges(ranks) : "ranks " + rank_ranges(ranks));
    section.add(name + " address", json_text_of(json_member(node, "address")));
    section.add(name + " binding", json_text_of(json_member(node, "binding")));
    section.add_members(json_member(node, "variables"), name + ' ');
  }
  return section.take();
}

void add_seconds(const std::string& name, const json& seconds, Section& section) {
  if (!seconds.is_number()) return;
  const double number = seconds.get<double>();
  constexpr double kMost = 1e9;
  if (!(number >= 0 && number < kMost)) return;
  const auto duration = std::chrono::nanoseconds(static_cast<std::int64_t>(number * 1e9));
  section.add_number(name, number, duration_text(duration));
}

RunSection timing_values(const RunTexts& texts, const json& summary) {
  Section section("timings", texts.id);
  add_seconds("elapsed", json_member(summary, "elapsed_s"), section);
  const json& ledger = json_member(summary, "ledger");
  if (!ledger.is_object()) return section.take();
  for (const auto& [name, seconds] : ledger.items())
    add_seconds(name.ends_with("_s") ? name.substr(0, name.size() - 2) : name, seconds, section);
  return section.take();
}

RunSection outcome_values(const RunTexts& texts, const json& summary) {
  Section section("outcome", texts.id);
  for (const char* name : {"cause", "exit_code", "origin", "detail", "first", "signal", "lost_node",
                           "failure", "exception", "where", "why", "leftovers"})
    section.add(name, json_text_of(json_member(summary, name)));
  if (const auto attempt = json_member(summary, "attempt"); attempt.is_number_unsigned())
    section.add("restarts", json_text_of(attempt));
  return section.take();
}

/// The value of each metric that the lowest rank with this metric printed.
RunSection metric_values(const RunTexts& texts, const json& summary) {
  Section section("metrics", texts.id);
  const json& metrics = json_member(summary, "metrics");
  if (!metrics.is_array()) return section.take();
  for (const json& metric : metrics) {
    const json& ranks = json_member(metric, "ranks");
    if (!ranks.is_array() || ranks.empty()) continue;
    for (const char* name : {"last", "steady"}) {
      const json& value = json_member(ranks[0], name);
      if (value.is_number())
        section.add_number(json_text_of(json_member(metric, "name")) + ' ' + name,
                           value.get<double>(), metric_number(value.get<double>()));
    }
  }
  return section.take();
}

}  // namespace

Result<std::vector<RunSection>> run_values(const RunTexts& texts) {
  const auto read = [&](const char* file, const std::string& text) -> Result<json> {
    if (text.empty()) return json::object();
    auto object = parse_json_object(text);
    if (!object)
      return fail(exit_code::kUsage, std::string(file) + " of run " + texts.id + " is damaged");
    return std::move(*object);
  };
  auto job = job_values(texts);
  if (!job) return tl::unexpected(job.error());
  const auto plan = read("plan.json", texts.plan_json);
  if (!plan) return tl::unexpected(plan.error());
  const auto summary = read("summary.json", texts.summary_json);
  if (!summary) return tl::unexpected(summary.error());
  return std::vector<RunSection>{std::move(*job),
                                 origin_values(texts),
                                 plan_values(texts, *plan),
                                 node_values(texts, *plan),
                                 timing_values(texts, *summary),
                                 outcome_values(texts, *summary),
                                 metric_values(texts, *summary)};
}

}  // namespace dlaunch
