// Config files of Hugging Face accelerate (`accelerate config`). They contain no command: it
// follows "--". Rules: accelerate 1.15, commands/config/config_args.py and utils/launch.py.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "jobfile/dialects/accelerate.h"
#include "jobfile/dialects/dialect.h"
#include "jobfile/expectation.h"
#include "jobfile/scalar.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

constexpr KeyName kKeyNames[] = {{"nodes", "num_machines"},
                                 {"processes_per_node", "num_processes"},
                                 {"rendezvous.port", "main_process_port"},
                                 {"framework", "distributed_type"}};

std::string why_not_accelerate(const Document& document, NodeId root) {
  const bool is_config = value_of(document, root, "distributed_type").has_value() ||
                         value_of(document, root, "compute_environment").has_value();
  return is_config ? "" : "no compute_environment or distributed_type";
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

class AccelerateConfig {
 public:
  explicit AccelerateConfig(Translation& translation)
      : t_(translation), keys_(t_.document, t_.diagnostics, Spelling::exact, t_.root, "") {}

  void translate() {
    const std::string type = read_type();
    accelerate::read_command(t_, type, keys_.place());
    read_size(type);
    const accelerate::Settings settings{type, read_precision()};
    read_settings(settings);
    accelerate::read_sections(t_, keys_, settings);
    read_rest();
  }

 private:
  void set(std::string_view name, const std::string& value, Place at) {
    t_.job.text({"env", name}, value, at);
  }

  std::string read_type() {
    const auto environment = keys_.text("compute_environment");
    if (environment && environment->text != "LOCAL_MACHINE")
      t_.diagnostics.error(environment->place, "compute_environment " +
                                                   in_quotes(environment->text) +
                                                   " is none of dlaunch's; it starts "
                                                   "LOCAL_MACHINE");
    const auto type = keys_.text("distributed_type");
    if (!type) {
      if (!keys_.has_mistake("distributed_type"))
        t_.diagnostics.error(keys_.place(),
                             "distributed_type is missing: MULTI_GPU, MULTI_CPU, DEEPSPEED, FSDP, "
                             "NO and the like");
      return "NO";
    }
    // "NO" without quotes is a boolean in YAML 1.1, so a tool may have rewritten it.
    std::string name = upper(type->text);
    if (name == "FALSE" || name == "OFF") name = "NO";
    constexpr std::array<std::string_view, 14> kKnown{
        "NO",         "MULTI_CPU",    "MULTI_GPU",   "MULTI_NPU", "MULTI_MLU",
        "MULTI_SDAA", "MULTI_MUSA",   "MULTI_XPU",   "MULTI_HPU", "DEEPSPEED",
        "FSDP",       "MULTI_NEURON", "MEGATRON_LM", "TP"};
    if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) {
      const bool is_tpu = name == "XLA" || name == "TPU";
      t_.diagnostics.error(type->place,
                           "distributed_type " + in_quotes(type->text) +
                               (is_tpu ? " is for TPUs, which dlaunch does not start"
                                       : " is not one that dlaunch starts" +
                                             did_you_mean(name, {kKnown.begin(), kKnown.end()})));
    }
    const char* framework = name == "NO" ? "none" : name == "DEEPSPEED" ? "deepspeed" : "pytorch";
    t_.job.text({"framework"}, framework, type->place);
    return name;
  }

  /// -n and --nproc-per-node are overrides, too.
  [[nodiscard]] bool is_overridden(std::string_view key) const {
    return std::any_of(t_.input.overrides.begin(), t_.input.overrides.end(),
                       [&](const Override& o) { return o.key == key && o.value != "auto"; });
  }

  /// "num_processes is the total; per machine = num_processes // num_machines".
  void read_size(const std::string& type) {
    const auto machines = keys_.integer("num_machines", 1);
    const auto processes = keys_.integer("num_processes", -1);
    const Place at = processes ? processes->place : keys_.place();
    if (type == "NO") return one_process(machines, processes);
    const std::int64_t nodes = machines ? machines->value : 1;
    const std::int64_t count = processes ? processes->value : -1;
    t_.job.number({"nodes"}, nodes, machines ? machines->place : keys_.place());
    if (count < 1) {
      if (is_overridden("processes") || is_overridden("processes_per_node")) return;
      // A value that is not a number was already reported.
      if (keys_.find("num_processes") && !processes) return;
      if (keys_.has_mistake("num_processes")) return;
      t_.diagnostics.error(
          at, count == 0
                  ? "num_processes must be 1 or more, not 0; write the total, or give it: -n N"
              : processes ? "num_processes: -1 leaves the number to the command "
                            "line; give it: -n N"
                          : "num_processes is not given; give it: -n N");
      return;
    }
    const std::int64_t each = count / nodes;
    if (each < 1) {
      t_.diagnostics.error(at, "num_processes " + std::to_string(count) + " do not fill " +
                                   std::to_string(nodes) + " machines");
      return;
    }
    if (count % nodes != 0) {
      t_.note_at(at, std::to_string(count) + " processes on " + std::to_string(nodes) +
                         " machines: " + std::to_string(each) +
                         " on each, as accelerate divides them");
    }
    t_.job.number({"processes_per_node"}, each, at);
  }

  /// "NO": accelerate's simple launcher, which starts the program once.
  void one_process(const std::optional<PlacedNumber>& machines,
                   const std::optional<PlacedNumber>& processes) {
    for (const auto* number : {&machines, &processes}) {
      if (!*number || (*number)->value <= 1) continue;
      t_.note_at((*number)->place,
                 "distributed_type NO starts one process, not " + std::to_string((*number)->value));
    }
    t_.job.number({"nodes"}, 1, machines ? machines->place : keys_.place());
    t_.job.number({"processes_per_node"}, 1, processes ? processes->place : keys_.place());
  }

  std::string read_precision() {
    auto precision = keys_.text("mixed_precision");
    if (!precision && keys_.is_true("fp16")) precision = PlacedText{"fp16", keys_.place()};
    keys_.skip({"fp16"});
    std::string name = precision ? lower(precision->text) : "no";
    if (name == "false") name = "no";
    set("ACCELERATE_MIXED_PRECISION", name, precision ? precision->place : keys_.place());
    return name;
  }

  void read_settings(const accelerate::Settings& settings) {
    read_cpu(settings);
    if (keys_.is_true("debug")) set("ACCELERATE_DEBUG_MODE", "true", keys_.place());
    if (const auto ids = keys_.text("gpu_ids"); ids && lower(ids->text) != "all")
      set(variable_of_devices(settings.type), ids->text, ids->place);
    if (const auto port = keys_.integer("main_process_port", 0); port && port->value > 0)
      t_.job.number({"rendezvous", "port"}, port->value, port->place);
  }

  /// prepare_simple_launcher_cmd_env(); the other launchers ignore use_cpu. The KMP_ variables
  /// belong to Intel's OpenMP.
  void read_cpu(const accelerate::Settings& settings) {
    const auto key = keys_.find("use_cpu");
    const bool cpu = keys_.is_true("use_cpu");
    if (!settings.is_simple()) {
      if (cpu)
        t_.note_at(key->key, "use_cpu has no effect with distributed_type " + settings.type +
                                 ", as with accelerate launch");
      return;
    }
    set("ACCELERATE_USE_CPU", cpu ? "True" : "False", keys_.place());
    if (!cpu) return;
    set("KMP_AFFINITY", "granularity=fine,compact,1,0", keys_.place());
    set("KMP_BLOCKTIME", "1", keys_.place());
  }

  /// accelerate detects the devices; here the type names them.
  static std::string_view variable_of_devices(std::string_view type) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kVariables{
        {{"MULTI_XPU", "ZE_AFFINITY_MASK"},
         {"MULTI_MLU", "MLU_VISIBLE_DEVICES"},
         {"MULTI_SDAA", "SDAA_VISIBLE_DEVICES"},
         {"MULTI_MUSA", "MUSA_VISIBLE_DEVICES"},
         {"MULTI_NPU", "ASCEND_RT_VISIBLE_DEVICES"},
         {"MULTI_HPU", "HABANA_VISIBLE_MODULES"},
         {"MULTI_NEURON", "NEURON_RT_VISIBLE_CORES"}}};
    for (const auto& [of_type, variable] : kVariables)
      if (of_type == type) return variable;
    return "CUDA_VISIBLE_DEVICES";
  }

  void read_rest() {
    for (const PlacedText& key :
         keys_.given_of({"main_process_ip", "main_training_function", "tpu_name"})) {
      const bool is_default = key.text == "main_training_function";
      if (!is_default) t_.not_used.push_back(key);
    }
    if (keys_.is_true("enable_cpu_affinity"))
      t_.note_at(keys_.find("enable_cpu_affinity")->key,
                 "enable_cpu_affinity has no effect in a file, as with accelerate launch; dlaunch "
                 "gives each rank cores of its own");
    // dlaunch assigns the machine ranks; the other keys concern TPUs and Amazon's service.
    keys_.skip({"machine_rank", "rdzv_backend", "same_network", "downcast_bf16", "tpu_env",
                "tpu_use_cluster", "tpu_use_sudo", "tpu_zone", "commands", "command_file",
                "use_xpu", "mixed_precision", "num_cpu_threads_per_process", "tpu_vm"});
    keys_.refuse_others();
  }

  Translation& t_;
  ForeignKeys keys_;
};

void translate_accelerate(Translation& translation) {
  AccelerateConfig(translation).translate();
}

}  // namespace

const Dialect kAccelerate{"accelerate config",   why_not_accelerate, translate_accelerate,
                          /*has_inputs=*/false,
                          /*has_outputs=*/false,
                          /*has_steps=*/false,   "distributed_type", kKeyNames};

}  // namespace dlaunch::jobfile
