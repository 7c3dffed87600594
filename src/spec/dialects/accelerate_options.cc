#include "spec/dialects/accelerate_options.h"

namespace dlaunch::spec::accelerate {

namespace {

constexpr Option kDeepspeed[] = {
    {"zero_stage"},
    {"offload_optimizer_device", {}, Letters::lower},
    {"offload_param_device", {}, Letters::lower},
    {"offload_optimizer_nvme_path"},
    {"offload_param_nvme_path"},
    {"zero3_init_flag", {}, Letters::lower, "ACCELERATE_DEEPSPEED_ZERO3_INIT"},
    {"zero3_save_16bit_model", {}, Letters::lower},
    {"deepspeed_config_file", {}, Letters::exact, "ACCELERATE_DEEPSPEED_CONFIG_FILE"},
    {"deepspeed_moe_layer_cls_names",
     {},
     Letters::exact,
     "ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES"},
    {"gradient_accumulation_steps", {}, Letters::exact, "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"},
    {"gradient_clipping", {}, Letters::lower, "ACCELERATE_GRADIENT_CLIPPING"},
    {"msamp_opt_level"},
    {"zero3_leaf_modules"}};

constexpr Option kFsdp[] = {
    {"version", "1"},
    {"sharding_strategy", "FULL_SHARD"},
    {"reshard_after_forward", "true", Letters::lower},
    {"offload_params", "false", Letters::lower},
    {"min_num_params", "100000000"},
    {"auto_wrap_policy"},
    {"transformer_layer_cls_to_wrap", {}, Letters::exact, "FSDP_TRANSFORMER_CLS_TO_WRAP"},
    {"backward_prefetch_policy", {}, Letters::exact, "FSDP_BACKWARD_PREFETCH"},  // up to 0.34
    {"backward_prefetch"},
    {"state_dict_type"},
    {"forward_prefetch", "false", Letters::lower},
    {"use_orig_params", "true", Letters::lower},
    {"cpu_ram_efficient_loading", "true", Letters::lower},
    {"sync_module_states", "true", Letters::lower},
    {"activation_checkpointing", "false", Letters::lower},
    {"activation_checkpointing_offload", "false", Letters::lower},
    {"ignored_modules"}};

constexpr Option kMegatron[] = {{"tp_degree", "1"},
                                {"use_custom_fsdp", "False"},
                                {"no_load_optim", "False"},
                                {"eod_mask_loss", "False"},
                                {"no_save_optim", "False"},
                                {"optimizer_cpu_offload", "False"},
                                {"use_precision_aware_optimizer", "False"},
                                {"overlap_cpu_optimizer_d2h_h2d", "False"},
                                {"decoder_last_pipeline_num_layers"},
                                {"pp_degree", "1"},
                                {"gradient_clipping", "1.0"},
                                {"num_micro_batches"},
                                {"sequence_parallelism"},
                                {"recompute_activations"},
                                {"use_distributed_optimizer"},
                                {"recompute_granularity"},
                                {"recompute_method"},
                                {"recompute_num_layers"},
                                {"attention_backend"},
                                {"expert_model_parallel_size"},
                                {"context_parallel_size"},
                                {"attention_dropout"},
                                {"hidden_dropout"},
                                {"attention_softmax_in_fp32"},
                                {"expert_tensor_parallel_size"},
                                {"calculate_per_token_loss"},
                                {"use_rotary_position_embeddings"}};

constexpr Option kParallelism[] = {
    {"dp_replicate_size", "1"},
    {"dp_shard_size", "1"},
    {"tp_size", "1"},
    {"cp_size", "1"},
    {"cp_backend", "torch"},
    {"cp_comm_strategy", "allgather", Letters::exact, {}, "cp_size"},
    {"sp_size", "1"},
    {"sp_backend", "deepspeed"},
    {"sp_seq_length", "None", Letters::exact, {}, "sp_size"},
    {"sp_seq_length_is_variable", "True", Letters::exact, {}, "sp_size"},
    {"sp_attn_implementation", "sdpa", Letters::exact, {}, "sp_size"}};

constexpr Option kDynamo[] = {{"backend", "NO", Letters::upper},
                              {"mode", "default"},
                              {"use_fullgraph", "False"},
                              {"use_dynamic", "False"},
                              {"use_regional_compilation", "False"}};

constexpr Option kFp8[] = {{"backend"},
                           {"use_autocast_during_eval", "False"},
                           {"margin", "0"},
                           {"interval", "1"},
                           {"format", "HYBRID"},
                           {"amax_history_len", "1024"},
                           {"amax_compute_algo", "most_recent"},
                           {"opt_level", "O2"},
                           {"enable_fsdp_float8_all_gather", "1"},
                           {"pad_inner_dim", "1"}};
// Sections of older releases: tensor parallelism (1.3 to 1.9), Intel's extension (up to 1.12).
constexpr Option kTensors[] = {{"size", "1"}};
constexpr Option kIntel[] = {{"ipex", {}, Letters::lower, "ACCELERATE_USE_IPEX"},
                             {"use_xpu", {}, Letters::lower, "ACCELERATE_USE_XPU"}};
constexpr Option kMpirun[] = {{"mpirun_ccl", {}, Letters::exact, "CCL_WORKER_COUNT"}};

constexpr Section kSections[] = {
    {"deepspeed_config", "", Prefix::none, "ACCELERATE_DEEPSPEED_", "ACCELERATE_USE_DEEPSPEED",
     kDeepspeed, [](const Settings& s, bool) { return s.type == "DEEPSPEED"; }},
    {"fsdp_config", "fsdp_", Prefix::added, "FSDP_", "ACCELERATE_USE_FSDP", kFsdp,
     [](const Settings& s, bool) { return s.type == "FSDP"; }},
    {"megatron_lm_config", "megatron_lm_", Prefix::needed, "MEGATRON_LM_",
     "ACCELERATE_USE_MEGATRON_LM", kMegatron,
     [](const Settings& s, bool) { return s.type == "MEGATRON_LM"; }},
    {"parallelism_config", "parallelism_config_", Prefix::needed, "PARALLELISM_CONFIG_",
     "ACCELERATE_USE_PARALLELISM_CONFIG", kParallelism,
     [](const Settings& s, bool is_given) { return is_given && !s.is_simple(); }},
    {"dynamo_config", "dynamo_", Prefix::added, "ACCELERATE_DYNAMO_", "", kDynamo,
     [](const Settings& s, bool) { return s.type != "DEEPSPEED"; }},
    {"fp8_config", "fp8_", Prefix::added, "ACCELERATE_FP8_", "", kFp8,
     [](const Settings& s, bool) { return s.precision == "fp8"; }, Others::passed},
    {"tp_config", "tp_", Prefix::needed, "TP_", "ACCELERATE_USE_TP", kTensors,
     [](const Settings& s, bool) { return s.type == "TP"; }},
    {"ipex_config", "", Prefix::none, "ACCELERATE_", "", kIntel,
     [](const Settings& s, bool) { return s.is_simple(); }},
    {"mpirun_config", "", Prefix::none, "", "", kMpirun,
     [](const Settings& s, bool) { return s.type == "MULTI_CPU"; }}};

}  // namespace

std::span<const Section> sections() {
  return kSections;
}

}  // namespace dlaunch::spec::accelerate
