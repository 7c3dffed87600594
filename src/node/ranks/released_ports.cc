#include "node/ranks/released_ports.h"

#include <algorithm>

#include "os/clock.h"
#include "os/containment.h"
#include "os/port_holder.h"

namespace dlaunch {

namespace {

// A rank may spend minutes importing from a slow file system before it listens.
constexpr std::chrono::minutes kSoon{5};

}  // namespace

std::optional<ReleasedPorts::Taken> ReleasedPorts::find_taken(MonotonicTime now) {
  std::erase_if(ports_, [&](const Released& released) { return now - released.at > kSoon; });
  if (ports_.empty()) return std::nullopt;
  const MonotonicTime began = monotonic_now();
  const MonotonicTime deadline = began + time_left_;
  std::vector<std::uint16_t> ports;
  for (const Released& released : ports_) ports.push_back(released.port);
  std::optional<Taken> found;
  if (const auto port = find_foreign_listener(
          ports, [] { return descendants(); }, deadline)) {
    const auto taken = std::find_if(ports_.begin(), ports_.end(),
                                    [&](const Released& each) { return each.port == *port; });
    found = Taken{taken->rank, {*port, port_holder(*port, deadline)}};
  }
  time_left_ -= monotonic_now() - began;
  // Further failures would find the same port, or one that was taken too late to cause them.
  if (found || time_left_ <= MonotonicTime(0)) ports_.clear();
  return found;
}

}  // namespace dlaunch
