// The keywords of the field table: choices, and substitutes for numbers.
#pragma once

#include <array>
#include <string_view>

#include "jobfile/field_table.h"

namespace dlaunch::jobfile::field_words {

inline constexpr auto not_yet = Availability::not_yet;

template <class Enum>
inline constexpr Word word(std::string_view text, Enum value,
                           Availability availability = Availability::available) {
  return {text, static_cast<int>(value), availability};
}

inline constexpr std::array kAuto{Word{"auto"}};
inline constexpr std::array kNone{Word{"none"}};

inline constexpr std::array kShells{word("sh", Shell::sh), word("bash", Shell::bash)};
inline constexpr std::array kFrameworks{word("pytorch", Framework::pytorch),
                                        word("tensorflow", Framework::tensorflow),
                                        word("mpi", Framework::mpi),
                                        word("horovod", Framework::horovod),
                                        word("deepspeed", Framework::deepspeed),
                                        word("jax", Framework::jax),
                                        word("gcp", Framework::gcp),
                                        word("none", Framework::none)};
inline constexpr std::array kLaunches{word("per-process", Launch::per_process),
                                      word("per-node", Launch::per_node),
                                      word("once", Launch::once)};
inline constexpr std::array kPlacings{word("fill", Placing::fill), word("spread", Placing::spread)};
inline constexpr std::array kProcessesPerNode{word("auto", ProcessesPerNode::Kind::automatic),
                                              word("gpu", ProcessesPerNode::Kind::gpu)};
inline constexpr std::array kSuccesses{word("auto", Success::automatic), word("all", Success::all),
                                       word("chief", Success::chief),
                                       word("workers", Success::workers)};
inline constexpr std::array kCpus{word("auto", Binding::Cpus::automatic),
                                  word("none", Binding::Cpus::none)};
inline constexpr std::array kGpus{word("all", Binding::Gpus::all),
                                  word("one-per-process", Binding::Gpus::one_per_process),
                                  word("none", Binding::Gpus::none)};
inline constexpr std::array kPmis{word("auto", Mpi::Pmi::automatic), word("pmix", Mpi::Pmi::pmix),
                                  word("pmi-1", Mpi::Pmi::pmi1)};
inline constexpr std::array kMpiInits{word("required", Mpi::Init::required),
                                      word("optional", Mpi::Init::optional)};
inline constexpr std::array kActiveEnvs{word("required", ActiveEnv::required),
                                        word("optional", ActiveEnv::optional)};
inline constexpr std::array kContainerRuntimes{
    word("auto", Container::Runtime::automatic),
    word("podman", Container::Runtime::podman),
    word("docker", Container::Runtime::docker),
    word("apptainer", Container::Runtime::apptainer),
    word("singularity", Container::Runtime::apptainer),
    word("charliecloud", Container::Runtime::charliecloud),
    word("enroot", Container::Runtime::enroot)};
inline constexpr std::array kMpiLaunchers{word("dlaunch", Mpi::Launcher::dlaunch),
                                          word("mpirun", Mpi::Launcher::mpirun)};
inline constexpr std::array kGcpChiefs{word("chief", GcpNames::Chief::chief),
                                       word("master", GcpNames::Chief::master)};
inline constexpr std::array kGcpGroups{word("master", GcpNames::Groups::roles),
                                       word("workerpool", GcpNames::Groups::pools)};
inline constexpr std::array kTfChiefs{word("chief", TfCluster::Chief::chief),
                                      word("master", TfCluster::Chief::master)};
inline constexpr std::array kTfEvaluators{word("apart", TfCluster::Evaluator::apart),
                                          word("listed", TfCluster::Evaluator::listed)};
inline constexpr std::array kRestartCauses{word("failure", RestartCause::failure),
                                           word("node-loss", RestartCause::node_loss),
                                           word("hang", RestartCause::hang)};
inline constexpr std::array kStdins{word("auto", StdinFor::automatic), word("none", StdinFor::none),
                                    word("rank0", StdinFor::rank0)};
inline constexpr std::array kIsolations{word("default", Isolation::standard),
                                        word("pid-namespace", Isolation::pid_namespace)};
inline constexpr std::array kChecks{word("node", Preflight::Check::node),
                                    word("reach", Preflight::Check::reach),
                                    word("fabric", Preflight::Check::fabric)};
inline constexpr std::array kConsoles{word("all", Logs::Console::all),
                                      word("rank0", Logs::Console::rank0),
                                      word("none", Logs::Console::none)};
inline constexpr std::array kPrefixes{word("auto", Logs::Prefix::automatic),
                                      word("always", Logs::Prefix::always),
                                      word("never", Logs::Prefix::never)};

}  // namespace dlaunch::jobfile::field_words
