#include "foreign/host_match.h"

#include <algorithm>

#include "model/ip_address.h"

namespace dlaunch::foreign {

bool is_own_host(std::string_view name, std::string_view hostname,
                 const std::vector<std::string>& addresses) {
  if (const auto ip = parse_ip(name)) {
    return std::any_of(addresses.begin(), addresses.end(),
                       [&](const std::string& own) { return parse_ip(own) == ip; });
  }
  if (name == hostname) return true;
  const auto has_domain = [](std::string_view text) { return text.find('.') != text.npos; };
  if (has_domain(name) && has_domain(hostname)) return false;
  return name.substr(0, name.find('.')) == hostname.substr(0, hostname.find('.'));
}

}  // namespace dlaunch::foreign
