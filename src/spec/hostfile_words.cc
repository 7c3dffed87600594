#include "spec/hostfile_words.h"

#include <algorithm>

#include "spec/host_name.h"

namespace dlaunch::spec {

namespace {

/// "host:4", also behind brackets.
bool has_colon_slots(std::string_view host) {
  const auto colon = host.rfind(':');
  const auto bracket = host.rfind(']');
  if (bracket != std::string_view::npos && colon != std::string_view::npos && bracket > colon)
    return false;
  return colon != std::string_view::npos && colon + 1 < host.size() && !is_ipv6(host) &&
         !is_ipv6(host.substr(host.find('@') + 1));
}

bool is_hydra_key(std::string_view key) {
  return key == "binding" || key == "user";
}

}  // namespace

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

HostfileForm form_of(const HostfileLine& line) {
  if (!line.settings.empty()) {
    const bool hydra = std::all_of(line.settings.begin(), line.settings.end(),
                                   [](const auto& s) { return is_hydra_key(s.key.text); });
    return hydra ? HostfileForm::colon : HostfileForm::slots;
  }
  if (line.words.size() >= 2 && is_digits(line.words[0].text)) return HostfileForm::columns;
  return has_colon_slots(line.host.text) ? HostfileForm::colon : HostfileForm::names;
}

const char* described(HostfileForm form) {
  switch (form) {
    case HostfileForm::slots:
      return "slots=4, as Open MPI and DeepSpeed have it";
    case HostfileForm::colon:
      return "host:4, as MPICH has it";
    case HostfileForm::columns:
      return "host 4 queue range, as Grid Engine has it";
    case HostfileForm::names:
      break;
  }
  return "names only";
}

}  // namespace dlaunch::spec
