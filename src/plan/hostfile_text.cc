#include "plan/hostfile_text.h"

namespace dlaunch {

std::string_view hostfile_name(HostfileDialect dialect) {
  return dialect == HostfileDialect::hydra ? "hostfile.hydra" : "hostfile";
}

std::string hostfile_text(HostfileDialect dialect, const std::vector<HostSlots>& hosts) {
  std::string text;
  for (const HostSlots& host : hosts) {
    text += host.name;
    text += dialect == HostfileDialect::hydra ? ":" : " slots=";
    text += std::to_string(host.slots);
    text += '\n';
  }
  return text;
}

}  // namespace dlaunch
