// Vertex AI: a CustomJob, or its `workerPoolSpecs`. Rules: "CustomJobSpec" and "WorkerPoolSpec" of
// its REST reference, "Distributed training".
#include <array>

#include "jobfile/dialects/dialect.h"
#include "jobfile/dialects/replicas.h"
#include "jobfile/expectation.h"

namespace dlaunch::jobfile {

namespace {

/// The mapping that contains workerPoolSpecs: the file itself, or its jobSpec.
std::optional<NodeId> job_spec_of(const Document& document, NodeId root) {
  if (value_of(document, root, "workerPoolSpecs", Spelling::loose)) return root;
  for (const char* key : {"jobSpec", "trialJobSpec", "spec"}) {
    const auto spec = value_of(document, root, key, Spelling::loose);
    if (spec && value_of(document, *spec, "workerPoolSpecs", Spelling::loose)) return spec;
  }
  return std::nullopt;
}

constexpr KeyName kKeyNames[] = {{"name", "displayName"},
                                 {"timeouts.run", "scheduling.timeout"},
                                 {"env_pass", "containerSpec.env"},
                                 {"env", "containerSpec.env"},
                                 {"roles.*.env", "containerSpec.env"},
                                 {"roles.*.command", "containerSpec.command"},
                                 {"command", "containerSpec.command"},
                                 {"roles.*.container.image", "containerSpec.imageUri"},
                                 {"roles.*.count", "replicaCount"}};

/// "The first is the primary replica, then workers, parameter servers, evaluators."
constexpr std::array<const char*, 4> kRoles{"chief", "worker", "ps", "evaluator"};

class CustomJob {
 public:
  explicit CustomJob(Translation& translation)
      : t_(translation),
        top_(t_.document, t_.diagnostics, Spelling::loose, t_.root, ""),
        keys_(t_.document, t_.diagnostics, Spelling::loose,
              job_spec_of(t_.document, t_.root).value_or(t_.root), "") {}

  void translate() {
    if (const auto tuning = top_.find("trialJobSpec"))
      return t_.diagnostics.error(tuning->key,
                                  "hyperparameter tuning searches for the best of many runs, which "
                                  "dlaunch does not do; give it one trial as a CustomJob");
    t_.job.text({"framework"}, "gcp", keys_.range());
    if (const auto name = top_.text("displayName")) t_.job.text({"name"}, name->text, name->range);
    std::vector<Replicas> groups;
    const std::vector<NodeId> pools = read_pools();
    if (pools.size() > kRoles.size())
      return t_.diagnostics.error(
          t_.document[pools[kRoles.size()]].range,
          "workerPoolSpecs may have at most 4 pools: primary, workers, parameter "
          "servers, evaluators");
    for (std::size_t i = 0; i < pools.size(); ++i) {
      if (auto group = read_pool(i, pools[i])) groups.push_back(std::move(*group));
    }
    set_roles(t_, groups);
    t_.job.text({"gcp", "cluster_spec"}, "workerpool", keys_.range());
    read_rest();
  }

 private:
  /// The pools; a single mapping counts as a list of one.
  std::vector<NodeId> read_pools() {
    const auto pools = keys_.find("workerPoolSpecs");
    if (!pools) return {};
    const Node& node = t_.document[pools->value];
    if (node.kind == NodeKind::mapping) return {pools->value};
    if (node.kind == NodeKind::sequence && !node.items.empty()) return node.items;
    t_.diagnostics.error(pools->key,
                         "workerPoolSpecs must be a list of pools, not " + found_instead(node));
    return {};
  }

  /// Reads a pool, whose index determines its role. "Optional pools may be skipped by an empty
  /// entry": nullopt.
  std::optional<Replicas> read_pool(std::size_t index, NodeId id) {
    const Node& node = t_.document[id];
    const bool is_empty =
        node.kind == NodeKind::null || (node.kind == NodeKind::mapping && node.items.empty());
    const std::string path = "workerPoolSpecs[" + std::to_string(index) + "]";
    if (is_empty && index > 0) return std::nullopt;
    if (node.kind != NodeKind::mapping || is_empty) {
      t_.diagnostics.error(
          node.range, path + " must be a pool, such as {replicaCount: 1, containerSpec: {...}}");
      return std::nullopt;
    }
    ForeignKeys pool(t_.document, t_.diagnostics, Spelling::loose, id, path);
    Replicas group;
    group.role = kRoles[index];
    group.range = pool.range();
    group.count = pool.integer("replicaCount").value_or(LocatedNumber{1, pool.range()});
    if (index == 0 && group.count.value != 1) {
      t_.diagnostics.error(group.count.range,
                           "the first pool is the primary replica, so its replicaCount must be 1; "
                           "workers belong in the second pool");
    }
    pool.skip({"machineSpec", "diskSpec", "nfsMounts"});
    read_program(pool, path, group);
    pool.refuse_others();
    if (index == 2 && group.image.text.find("reductionserver") != std::string::npos) {
      t_.note_at(group.range, "the reduction server is not started: ranks reduce among themselves");
      return std::nullopt;
    }
    return group;
  }

  void read_program(ForeignKeys& pool, const std::string& path, Replicas& group) {
    ForeignKeys container = pool.mapping("containerSpec");
    ForeignKeys package = pool.mapping("pythonPackageSpec");
    if (container.is_given() == package.is_given()) {
      if (!pool.has_mistake("containerSpec") && !pool.has_mistake("pythonPackageSpec"))
        t_.diagnostics.error(group.range,
                             path + (container.is_given() ? " has a containerSpec and a "
                                                            "pythonPackageSpec; remove one of them"
                                                          : " needs a containerSpec or a "
                                                            "pythonPackageSpec"));
      group.count.value = 0;
      return;
    }
    if (container.is_given()) {
      group.image = container.text("imageUri").value_or(LocatedText());
      group.command = container.texts("command");
      group.args = container.texts("args");
      group.env = read_env_list(t_, container, "env", Spelling::loose);
      container.refuse_others();
      return;
    }
    group.image = package.text("executorImageUri").value_or(LocatedText());
    group.args = package.texts("args");
    group.env = read_env_list(t_, package, "env", Spelling::loose);
    for (const LocatedText& key : package.given_of({"packageUris"})) t_.not_used.push_back(key);
    const auto module = package.text("pythonModule");
    if (!module) {
      t_.diagnostics.error(package.range(), path + ".pythonPackageSpec needs a pythonModule");
      group.count.value = 0;
      return;
    }
    group.command = {{"python3", module->range}, {"-m", module->range}, *module};
    package.refuse_others();
  }

  void read_rest() {
    ForeignKeys scheduling = keys_.mapping("scheduling");
    if (const auto limit = scheduling.text("timeout")) set_limit(t_, *limit);
    top_.skip({"displayName", "labels", "jobSpec", "spec", "name"});
    keys_.refuse_misspelt();
    for (const LocatedText& key : keys_.others()) {
      const bool is_top = keys_.node() == t_.root;
      const std::string last = key.text;
      if (!is_top || (last != "displayName" && last != "display_name" && last != "labels"))
        t_.not_used.push_back(key);
    }
    if (keys_.node() == t_.root) return;
    for (const LocatedText& key : top_.others()) t_.not_used.push_back(key);
  }

  Translation& t_;
  ForeignKeys top_;
  ForeignKeys keys_;
};

}  // namespace

const Dialect kVertexAi{.name = "Vertex AI",
                        .why_not = [](const Document& document, NodeId root) -> std::string {
                          return job_spec_of(document, root) ? "" : "no workerPoolSpecs";
                        },
                        .translate = [](Translation& t) { CustomJob(t).translate(); },
                        .own_key = "workerPoolSpecs",
                        .key_names = kKeyNames,
                        .starts_in_image = true};

}  // namespace dlaunch::jobfile
