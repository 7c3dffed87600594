// Config files of Hugging Face accelerate (`accelerate config`). They contain no command, so it
// follows "--". Rules: accelerate 1.15, commands/config/config_args.py and utils/launch.py.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "jobfile/dialects/accelerate.h"
#include "jobfile/dialects/dialect.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/shell_quote.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

/// "--no-python" becomes "--no_python": accelerate accepts both spellings.
std::string option_name(const std::string& word) {
  std::string name = word.substr(0, word.find('='));
  const auto first = std::min(name.find_first_not_of('-'), name.size());
  std::replace(name.begin() + static_cast<std::ptrdiff_t>(first), name.end(), '-', '_');
  return name;
}

/// Sets `command` from the words after "--", which have the form of `accelerate launch`: a script,
/// -m MODULE, or --no_python PROGRAM. `type`: distributed_type, "NO" for one process.
class CommandReader {
 public:
  CommandReader(Translation& translation, const std::string& type, SourceRange at)
      : t_(translation), words_(translation.input.arguments), type_(type), at_(at) {}

  void read() {
    // `--set command` is the complete command; the words after "--" follow it as for any file.
    if (t_.is_set("command")) return;
    t_.took_arguments = true;
    if (words_.empty())
      return t_.diagnostics.error(
          SourceRange::whole(0),
          "this file says how to start a program, but not which one; give it after --, "
          "for example: -- python train.py");
    skip_launcher();
    while (next_ < words_.size() && words_[next_].starts_with('-')) {
      if (!read_option()) return;
    }
    if (next_ == words_.size()) return refuse("there is no program after the options");
    if (is_module_ && no_python_)
      return refuse("use -m for a Python module or --no_python for another program, not both");
    refuse_launchers();
    set_command();
  }

 private:
  void refuse(std::string why) {
    t_.sources.push_back({"-- " + shell_line(words_), "", true});
    t_.diagnostics.error(SourceRange::whole(static_cast<std::uint32_t>(t_.sources.size() - 1)),
                         std::move(why));
  }

  /// Skips "accelerate launch" in all its forms, because it would start all processes again in
  /// each process.
  void skip_launcher() {
    const auto word = [&](std::size_t i) {
      return i < words_.size() ? file_name(words_[i]) : std::string_view();
    };
    if (word(0) == "accelerate-launch") next_ = 1;
    if (word(0) == "accelerate" && word(1) == "launch") next_ = 2;
    if (word(0).starts_with("python") && word(1) == "-m" && word(2) == "accelerate.commands.launch")
      next_ = 3;
    had_launcher_ = next_ > 0;
    if (had_launcher_)
      t_.notes.emplace_back(
          "accelerate launch is left out of the command: dlaunch starts the processes itself");
  }

  bool read_option() {
    const std::string name = option_name(words_[next_]);
    const bool has_value = words_[next_].find('=') != std::string::npos;
    ++next_;
    if (name == "-m" || name == "--module") return is_module_ = true;
    if (name == "--no_python") return no_python_ = true;
    // The option names the file that is being read.
    if (had_launcher_ && name == "--config_file") {
      if (!has_value && next_ < words_.size()) ++next_;
      return true;
    }
    refuse(in_quotes(name) +
           " is an option of accelerate launch; use the keys of the file, -n and --nnodes instead; "
           "after --, give only the program, or -m MODULE");
    return false;
  }

  /// Reports torchrun and similar launchers, which would run in each of several processes.
  void refuse_launchers() {
    const std::vector<std::string> program(words_.begin() + static_cast<std::ptrdiff_t>(next_),
                                           words_.end());
    const std::string line = (is_module_ ? "python3 -m " : "") + shell_line(program);
    const auto launcher = started_launcher(line);
    if (type_ != "NO" && launcher)
      refuse(launcher->name +
             " starts its own workers, and would do so in each process of the file; give only "
             "the program that follows it");
  }

  /// Sets the command; Python runs a script, as in accelerate.
  void set_command() {
    std::vector<LocatedText> words;
    const bool is_script = words_[next_].ends_with(".py") && !no_python_;
    if (is_script || is_module_) words.push_back({"python3", at_});
    if (is_module_) words.push_back({"-m", at_});
    for (; next_ < words_.size(); ++next_) words.push_back({words_[next_], at_});
    t_.job.texts({"command"}, words, at_);
  }

  Translation& t_;
  const std::vector<std::string>& words_;
  const std::string& type_;
  SourceRange at_;
  std::size_t next_ = 0;
  bool had_launcher_ = false;
  bool is_module_ = false;
  bool no_python_ = false;
};

constexpr KeyName kKeyNames[] = {{"nodes", "num_machines"},
                                 {"processes_per_node", "num_processes"},
                                 {"rendezvous.port", "main_process_port"},
                                 {"framework", "distributed_type"}};

std::string why_not_accelerate(const Document& document, NodeId root) {
  const bool is_config = value_of(document, root, "distributed_type").has_value() ||
                         value_of(document, root, "compute_environment").has_value();
  return is_config ? "" : "no compute_environment or distributed_type";
}

class AccelerateConfig {
 public:
  explicit AccelerateConfig(Translation& translation)
      : t_(translation), keys_(t_.document, t_.diagnostics, Spelling::exact, t_.root, "") {}

  void translate() {
    const std::string type = read_type();
    CommandReader(t_, type, keys_.range()).read();
    read_size(type);
    const accelerate::Settings settings{type, read_precision()};
    read_settings(settings);
    accelerate::read_sections(t_, keys_, settings);
    read_rest();
  }

 private:
  void set(std::string_view name, const std::string& value, SourceRange at) {
    t_.job.text({"env", name}, value, at);
  }

  std::string read_type() {
    const auto environment = keys_.text("compute_environment");
    if (environment && environment->text != "LOCAL_MACHINE")
      t_.diagnostics.error(environment->range, "compute_environment " +
                                                   in_quotes(environment->text) +
                                                   " is not supported; dlaunch supports only "
                                                   "LOCAL_MACHINE");
    const auto type = keys_.text("distributed_type");
    if (!type) {
      if (!keys_.has_mistake("distributed_type"))
        t_.diagnostics.error(keys_.range(),
                             "distributed_type is missing; set it, for example to MULTI_GPU, "
                             "MULTI_CPU, DEEPSPEED, FSDP or NO");
      return "NO";
    }
    // "NO" without quotes is a boolean in YAML 1.1, so another tool may have rewritten it.
    std::string name = upper(type->text);
    if (name == "FALSE" || name == "OFF") name = "NO";
    constexpr std::array<std::string_view, 14> kKnown{
        "NO",         "MULTI_CPU",    "MULTI_GPU",   "MULTI_NPU", "MULTI_MLU",
        "MULTI_SDAA", "MULTI_MUSA",   "MULTI_XPU",   "MULTI_HPU", "DEEPSPEED",
        "FSDP",       "MULTI_NEURON", "MEGATRON_LM", "TP"};
    if (!contains(kKnown, name)) {
      const bool is_tpu = name == "XLA" || name == "TPU";
      t_.diagnostics.error(type->range,
                           "distributed_type " + in_quotes(type->text) +
                               (is_tpu ? " is for TPUs, which dlaunch does not support"
                                       : " is not one that dlaunch supports" +
                                             did_you_mean(name, {kKnown.begin(), kKnown.end()})));
    }
    const char* framework = name == "NO" ? "none" : name == "DEEPSPEED" ? "deepspeed" : "pytorch";
    t_.job.text({"framework"}, framework, type->range);
    return name;
  }

  /// Whether the command line sets the key; -n and --nproc-per-node are overrides, too.
  [[nodiscard]] bool is_overridden(std::string_view key) const {
    return std::any_of(t_.input.overrides.begin(), t_.input.overrides.end(),
                       [&](const Override& o) { return o.key == key && o.value != "auto"; });
  }

  /// "num_processes is the total; per machine = num_processes // num_machines".
  void read_size(const std::string& type) {
    const auto machines = keys_.integer("num_machines", 1);
    const auto processes = keys_.integer("num_processes", -1);
    const SourceRange at = processes ? processes->range : keys_.range();
    if (type == "NO") return one_process(machines, processes);
    const std::int64_t nodes = machines ? machines->value : 1;
    const std::int64_t count = processes ? processes->value : -1;
    t_.job.number({"nodes"}, nodes, machines ? machines->range : keys_.range());
    if (count < 1) {
      if (is_overridden("processes") || is_overridden("processes_per_node")) return;
      // A value that is not a number was already reported.
      if (keys_.find("num_processes") && !processes) return;
      if (keys_.has_mistake("num_processes")) return;
      t_.diagnostics.error(
          at,
          count == 0
              ? "num_processes must be 1 or more, not 0; correct the file, or give the number: -n N"
          : processes ? "num_processes: -1 leaves the number to the command "
                        "line; give it: -n N"
                      : "num_processes is not given; give it: -n N");
      return;
    }
    const std::int64_t each = count / nodes;
    if (each < 1)
      return t_.diagnostics.error(at, "num_processes " + std::to_string(count) +
                                          " is too few for " + std::to_string(nodes) + " machines");
    if (count % nodes != 0) {
      t_.note_at(at, std::to_string(count) + " processes on " + std::to_string(nodes) +
                         " machines: " + std::to_string(each) +
                         " on each, as accelerate rounds down");
    }
    t_.job.number({"processes_per_node"}, each, at);
  }

  /// "NO": accelerate's simple launcher, which starts the program once.
  void one_process(const std::optional<LocatedNumber>& machines,
                   const std::optional<LocatedNumber>& processes) {
    for (const auto* number : {&machines, &processes}) {
      if (!*number || (*number)->value <= 1) continue;
      t_.note_at((*number)->range,
                 "distributed_type NO starts one process, not " + std::to_string((*number)->value));
    }
    t_.job.number({"nodes"}, 1, machines ? machines->range : keys_.range());
    t_.job.number({"processes_per_node"}, 1, processes ? processes->range : keys_.range());
  }

  std::string read_precision() {
    auto precision = keys_.text("mixed_precision");
    if (!precision && keys_.is_true("fp16")) precision = LocatedText{"fp16", keys_.range()};
    keys_.skip({"fp16"});
    std::string name = precision ? lower(precision->text) : "no";
    if (name == "false") name = "no";
    set("ACCELERATE_MIXED_PRECISION", name, precision ? precision->range : keys_.range());
    return name;
  }

  void read_settings(const accelerate::Settings& settings) {
    read_cpu(settings);
    if (keys_.is_true("debug")) set("ACCELERATE_DEBUG_MODE", "true", keys_.range());
    if (const auto ids = keys_.text("gpu_ids"); ids && lower(ids->text) != "all")
      set(variable_of_devices(settings.type), ids->text, ids->range);
    if (const auto port = keys_.integer("main_process_port", 0); port && port->value > 0)
      t_.job.number({"rendezvous", "port"}, port->value, port->range);
  }

  /// Follows prepare_simple_launcher_cmd_env(); the other launchers ignore use_cpu. The KMP_
  /// variables belong to Intel's OpenMP.
  void read_cpu(const accelerate::Settings& settings) {
    const auto key = keys_.find("use_cpu");
    const bool cpu = keys_.is_true("use_cpu");
    if (!settings.is_simple()) {
      if (cpu)
        t_.note_at(key->key, "use_cpu has no effect with distributed_type " + settings.type +
                                 ", as with accelerate launch");
      return;
    }
    set("ACCELERATE_USE_CPU", cpu ? "True" : "False", keys_.range());
    if (!cpu) return;
    set("KMP_AFFINITY", "granularity=fine,compact,1,0", keys_.range());
    set("KMP_BLOCKTIME", "1", keys_.range());
  }

  /// The variable that selects the devices. accelerate detects their type; here distributed_type
  /// names it.
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
    for (const LocatedText& key :
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

}  // namespace

const Dialect kAccelerate{.name = "accelerate config",
                          .why_not = why_not_accelerate,
                          .translate = [](Translation& t) { AccelerateConfig(t).translate(); },
                          .own_key = "distributed_type",
                          .key_names = kKeyNames};

}  // namespace dlaunch::jobfile
