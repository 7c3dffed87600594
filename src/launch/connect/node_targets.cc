#include "launch/connect/node_targets.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <arpa/inet.h>

#include "os/own_machine.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::uint16_t kSshPort = 22;

/// The canonical form of a numeric address; empty for any other text.
std::string canonical_address(const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)];
  char written[INET6_ADDRSTRLEN];
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, text.c_str(), bytes) == 1 &&
        ::inet_ntop(family, bytes, written, sizeof written) != nullptr)
      return written;
  }
  return "";
}

bool is_own_address(const std::string& address, const OwnMachine& own) {
  if (address.starts_with("127.") || address == "::1") return true;
  return std::find(own.addresses.begin(), own.addresses.end(), address) != own.addresses.end();
}

/// Case makes no difference in host names (RFC 4343).
bool is_own_name(const std::string& name, const OwnMachine& own) {
  if (name.empty()) return false;
  const std::string asked = lower(name);
  const std::string mine = lower(own.hostname);
  if (asked == "localhost" || asked == "localhost.localdomain" || asked == "ip6-localhost")
    return true;
  if (asked == mine) return true;
  const std::size_t asked_dot = asked.find('.');
  const std::size_t mine_dot = mine.find('.');
  const bool one_has_a_domain = (asked_dot == std::string::npos) != (mine_dot == std::string::npos);
  return one_has_a_domain && asked.substr(0, asked_dot) == mine.substr(0, mine_dot);
}

bool is_this_machine(const HostSpec& host, const OwnMachine& own) {
  if (host.port != 0 && host.port != kSshPort) return false;
  for (const std::string& text : {host.name, host.address}) {
    const std::string address = canonical_address(text);
    if (address.empty() ? is_own_name(text, own) : is_own_address(address, own)) return true;
  }
  return false;
}

/// What a host name, an address or a user may contain: nothing that ssh, a shell or the user's own
/// command could misinterpret.
bool is_plain(std::string_view text) {
  constexpr std::string_view kPlain = "._-:%@+";
  return !text.starts_with('-') && std::all_of(text.begin(), text.end(), [&](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || kPlain.find(c) != std::string_view::npos ||
           static_cast<unsigned char>(c) >= 0x80;
  });
}

Status check_words(const HostSpec& host) {
  for (const auto& [what, text] :
       {std::pair<const char*, const std::string&>{"host name", host.name},
        {"address", host.address},
        {"user name", host.user}}) {
    if (!is_plain(text))
      return fail(exit_code::kJobFile, std::string("\"") + text + "\" is not a valid " + what);
  }
  return {};
}

/// The connector of all hosts except, with `auto`, this machine.
Result<const Connector*> connector_of(const JobSpec& spec) {
  std::string via = spec.connect.via;
  if (via == Connect::Via::automatic) {
    via = spec.hosts.in_slurm            ? Connect::Via::slurm
          : spec.connect.command.empty() ? Connect::Via::ssh
                                         : Connect::Via::command;
  }
  const Connector* connector = find_connector(via);
  if (connector == nullptr) return fail(exit_code::kJobFile, "connect.via: " + via + " is unknown");
  if (connector->name == Connect::Via::command && spec.connect.command.empty())
    return fail(exit_code::kJobFile, "connect.via: command needs connect.command");
  return connector;
}

}  // namespace

Result<std::vector<NodeTarget>> node_targets(const JobSpec& spec, const OwnMachine& own) {
  const auto connector = connector_of(spec);
  if (!connector) return tl::unexpected(connector.error());
  const Connector* local = find_connector(Connect::Via::local);
  std::vector<NodeTarget> targets;
  if (spec.hosts.hosts.empty()) {
    HostSpec here;
    here.name = own.hostname;
    targets.push_back({here, local});
    return targets;
  }
  std::size_t wanted = spec.hosts.hosts.size();
  if (spec.nodes)
    wanted = std::min(wanted, static_cast<std::size_t>(std::max(spec.nodes->max, 1) + spec.spares));
  const std::string* here = nullptr;
  for (std::size_t i = 0; i < wanted; ++i) {
    NodeTarget target{spec.hosts.hosts[i]};
    HostSpec& host = target.host;
    if (host.user.empty()) host.user = spec.connect.user;
    if (const Status plain = check_words(host); !plain) return tl::unexpected(plain.error());
    const bool same_user = host.user.empty() || host.user == own.user;
    const bool is_here =
        spec.connect.via == Connect::Via::automatic && same_user && is_this_machine(host, own);
    target.connector = is_here ? local : *connector;
    if (host.port == 0) host.port = spec.connect.port;
    if (is_here) {
      const std::string& name = spec.hosts.hosts[i].name;
      if (here != nullptr) {
        return fail(exit_code::kJobFile, "the hosts \"" + *here + "\" and \"" + name +
                                             "\" are both this machine; name it once");
      }
      here = &name;
    }
    targets.push_back(std::move(target));
  }
  return targets;
}

std::string target_key(const Connect& connect, const NodeTarget& target) {
  std::string key(target.connector->name);
  // The size before each text keeps it from being taken for two.
  const auto add = [&](const std::string& text) {
    key += ' ' + std::to_string(text.size()) + ':' + text;
  };
  add(target.host.name);
  add(target.host.user);
  add(std::to_string(target.host.port));
  add(connect.ssh);
  add(connect.identity_file);
  add(std::to_string(connect.command.size()));
  for (const std::string& word : connect.command) add(word);
  for (const auto& [name, value] : connect.settings) {
    add(name);
    add(value);
  }
  return key;
}

OwnMachine this_machine(bool with_addresses) {
  OwnMachine own{own_hostname(), {}, ""};
  if (with_addresses) own.addresses = own_addresses();
  for (const char* name : {"USER", "LOGNAME"}) {
    if (const char* user = ::getenv(name); own.user.empty() && user != nullptr) own.user = user;
  }
  return own;
}

Node node_of(const NodeTarget& target, bool only_one) {
  Node node;
  node.name = target.host.name;
  node.is_launcher = target.is_local();
  node.slots = target.host.slots;
  if (!only_one) {
    node.address = target.host.address.empty() ? target.host.name : target.host.address;
  } else {
    node.address = "127.0.0.1";
  }
  return node;
}

}  // namespace dlaunch
