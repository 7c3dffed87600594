#include "foreign/join_words.h"

#include <charconv>
#include <initializer_list>

#include "plan/scrub.h"

namespace dlaunch {

namespace {

constexpr std::string_view kGreeting = "dlaunch-join-2";
constexpr std::uint32_t kMostRank = (1U << 20) - 1;
constexpr int kMostCpu = 65535;

/// Up to the next NUL, which is taken away.
std::optional<std::string_view> next(std::string_view& rest) {
  const auto end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return word;
}

template <class Number>
std::optional<Number> number(std::string_view text, Number most) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most || value < 0)
    return std::nullopt;
  return value;
}

std::optional<std::vector<int>> numbers(std::string_view text) {
  std::vector<int> all;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const auto one = number<int>(text.substr(0, comma), kMostCpu);
    if (!one) return std::nullopt;
    all.push_back(*one);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return all;
}

void add(std::string& text, std::string_view word) {
  text += word;
  text += '\0';
}

std::optional<std::uint32_t> first_of(const Environment& environment,
                                      std::initializer_list<const char*> names,
                                      std::uint32_t most) {
  for (const char* name : names) {
    const auto value = find_variable(environment, name);
    if (value && !value->empty()) return number<std::uint32_t>(*value, most);
  }
  return std::nullopt;
}

}  // namespace

std::string encode(const Joining& joining) {
  std::string cpus;
  for (const int cpu : joining.cpus) cpus += (cpus.empty() ? "" : ",") + std::to_string(cpu);
  std::string text;
  add(text, kGreeting);
  add(text, std::to_string(joining.rank.value));
  add(text, std::to_string(joining.world));
  add(text, std::to_string(joining.parent));
  add(text, cpus);
  add(text, joining.has_pmi ? "1" : "0");
  for (const auto& [name, value] : joining.variables) add(text, name + '=' + value);
  return text;
}

std::optional<Joining> decode_joining(std::string_view text) {
  const auto greeting = next(text);
  if (!greeting || *greeting != kGreeting) return std::nullopt;
  const auto rank_text = next(text);
  const auto world_text = next(text);
  const auto parent_text = next(text);
  const auto cpus_text = next(text);
  const auto pmi = next(text);
  if (!rank_text || !world_text || !parent_text || !cpus_text || !pmi) return std::nullopt;
  const auto rank = number<std::uint32_t>(*rank_text, kMostRank);
  const auto world = number<std::uint32_t>(*world_text, kMostRank + 1);
  const auto parent = number<std::uint32_t>(*parent_text, 1U << 22);
  auto cpus = numbers(*cpus_text);
  if (!rank || !world || !parent || !cpus || (*pmi != "0" && *pmi != "1")) return std::nullopt;
  Joining joining{Rank(*rank), *world, *parent, std::move(*cpus), *pmi == "1", {}};
  while (!text.empty()) {
    const auto entry = next(text);
    const auto equals = entry ? entry->find('=') : std::string_view::npos;
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    const std::string name(entry->substr(0, equals));
    if (!is_of_mpi_launcher(name)) return std::nullopt;
    joining.variables[name] = entry->substr(equals + 1);
  }
  return joining;
}

std::string other_world(const Joining& joining, std::uint32_t planned) {
  if (joining.world == 0 || joining.world == planned) return {};
  return "mpirun has started " + std::to_string(joining.world) + " ranks, and the job has " +
         std::to_string(planned) +
         ": a wrapper, a file of settings or an allocation that mpirun is in gives it another "
         "number (-np, hosts, slots) than dlaunch does";
}

std::string encode(const JoinAnswer& answer) {
  if (!answer.refused.empty()) return "refused " + answer.refused.substr(0, kMostJoinBytes / 2);
  return (answer.status.signaled ? "signal " : "code ") + std::to_string(answer.status.value);
}

std::optional<JoinAnswer> decode_join_answer(std::string_view text) {
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view kind = text.substr(0, blank);
  const std::string_view value = text.substr(blank + 1);
  JoinAnswer answer;
  if (kind == "refused" && !value.empty()) {
    answer.refused = value;
    return answer;
  }
  const bool is_signal = kind == "signal";
  if (!is_signal && kind != "code") return std::nullopt;
  const auto known = number<int>(value, is_signal ? 64 : 255);
  if (!known || (is_signal && *known == 0)) return std::nullopt;
  answer.status.signaled = is_signal;
  answer.status.value = *known;
  return answer;
}

Result<Joining> joining_from(const Environment& environment) {
  const auto rank =
      first_of(environment, {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}, kMostRank);
  if (!rank) {
    return fail(exit_code::kPreflight,
                "--join is for `dlaunch run` with mpi.launcher: mpirun, and no mpirun has started "
                "this process: none of OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK is set");
  }
  Joining joining;
  joining.rank = Rank(*rank);
  joining.world =
      first_of(environment, {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, kMostRank + 1).value_or(0);
  for (const auto& [name, value] : environment) {
    if (is_of_mpi_launcher(name)) joining.variables.emplace(name, value);
  }
  return joining;
}

std::string join_socket(const std::string& folder) {
  return folder + "/agent";
}

std::string join_program(const std::string& folder) {
  return folder + "/dlaunch";
}

}  // namespace dlaunch
