#include "launch/connect/program_forwarding.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "model/ip_address.h"
#include "node/fetch/fetch_image.h"
#include "node/fetch/fetch_order.h"
#include "os/clock.h"
#include "os/memory_program.h"
#include "os/random.h"
#include "os/reach_socket.h"
#include "os/strong_hash.h"
#include "text/hex.h"

namespace dlaunch {

namespace {

constexpr Duration kLongest = std::chrono::seconds(10);
constexpr Duration kAnswer = std::chrono::seconds(3);  // for a holder's answer

/// The program dlaunch-fetch; empty: there is none for this processor.
std::string read_fetcher() {
  const CarriedProgram image = fetch::image();
  const auto file =
      image.size == 0 ? Result<UniqueFd>(UniqueFd()) : memory_program("dlaunch-fetch", image);
  if (!file || !*file) return {};
  std::string bytes(image.size, '\0');
  const ssize_t n = ::pread(file->get(), bytes.data(), bytes.size(), 0);
  return n == static_cast<ssize_t>(bytes.size()) ? bytes : std::string();
}

/// A node must not make others connect to themselves or to a whole network.
bool can_be_another_node(const StageAddress& at) {
  const auto ip = parse_ip(at.address);
  return ip && at.port != 0 && is_unicast(*ip) && !is_loopback(*ip);
}

/// `why` is what dlaunch-fetch printed; empty if its time limit ended it.
bool is_fault_of_holder(const std::string& why) {
  return why.empty() || why.starts_with(fetch::kNoConnection) ||
         why.starts_with(fetch::kEndedEarly) || why.starts_with(fetch::kOtherProgram);
}

}  // namespace

ProgramForwarding::ProgramForwarding(EventLoop& loop, OwnBinary& program, Duration limit,
                                     Serve serve, Feed feed)
    : loop_(loop),
      program_(program),
      limit_(std::min(limit / 4, kLongest)),
      serve_(std::move(serve)),
      feed_(std::move(feed)),
      timer_(loop) {}

const std::string& ProgramForwarding::fetcher() {
  if (!fetcher_) fetcher_ = read_fetcher();
  return *fetcher_;
}

void ProgramForwarding::lacks(NodeId node) {
  relay_.lacks(node, monotonic_now() + limit_);
  advance_soon();
}

void ProgramForwarding::has(NodeId node) {
  relay_.has(node);
  advance();
}

void ProgramForwarding::gone(NodeId node) {
  relay_.gone(node);
  std::vector<std::uint32_t> asked;
  for (const auto& [id, guest] : guests_)
    if (guest->holder == node) asked.push_back(id);
  for (const std::uint32_t id : asked) give_up(id, false);
  advance_soon();
}

void ProgramForwarding::close(bool closed) {
  relay_.close(closed);
  advance_soon();
}

void ProgramForwarding::failed(NodeId node, const std::string& why) {
  relay_.failed(node, is_fault_of_holder(why));
  advance_soon();
}

void ProgramForwarding::over(NodeId node, bool has_it) {
  std::erase_if(guests_, [node](const auto& guest) { return guest.second->node == node; });
  relay_.over(node, has_it);
  advance_soon();
}

void ProgramForwarding::advance_soon() {
  if (std::exchange(advance_posted_, true)) return;
  loop_.post([this, living = alive_] {
    if (!*living) return;
    advance_posted_ = false;
    advance();
  });
}

void ProgramForwarding::advance() {
  while (relay_.is_off() && !guests_.empty()) give_up(guests_.begin()->first, false);
  for (const ProgramRelay::Feed& feed : relay_.next(monotonic_now()))
    feed.from ? ask(feed.node, *feed.from) : feed_(feed.node, {});
  const auto next = relay_.deadline();
  if (!next) return timer_.cancel();
  timer_.after(std::max(*next - monotonic_now(), MonotonicTime(0)), [this] { advance(); });
}

void ProgramForwarding::ask(NodeId node, NodeId holder) {
  const std::uint32_t id = ++last_id_;
  auto& guest = guests_[id] = std::make_unique<Guest>(loop_, node, holder);
  guest->ticket = random_secret().value_or("");
  guest->limit.after(std::min(kAnswer, limit_), [this, id] { give_up(id, true); });
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(2 * limit_);
  const wire::ServeProgram order{id, guest->ticket,
                                 static_cast<std::uint32_t>(milliseconds.count())};
  if (!serve_(holder, order)) gone(holder);
}

void ProgramForwarding::give_up(std::uint32_t id, bool by_holder) {
  const auto found = guests_.find(id);
  if (found == guests_.end()) return;
  const std::unique_ptr<Guest> guest = std::move(found->second);
  guests_.erase(found);
  relay_.failed(guest->node, by_holder);
  advance_soon();
  feed_(guest->node, {});
}

void ProgramForwarding::served(NodeId holder, const wire::ProgramServed& answer) {
  const auto found = guests_.find(answer.id);
  if (found == guests_.end() || found->second->holder != holder) return;
  const std::string order =
      answer.at.empty() ? std::string() : order_for(*found->second, answer.at.front());
  if (order.empty()) {
    relay_.cannot_feed(holder);
    return give_up(answer.id, false);
  }
  const std::unique_ptr<Guest> guest = std::move(found->second);
  guests_.erase(found);
  feed_(guest->node, order);
}

/// What dlaunch-fetch is told; empty: the address cannot be that of another node.
std::string ProgramForwarding::order_for(const Guest& guest, const StageAddress& at) {
  const auto program = program_.bytes();
  if (!program || !can_be_another_node(at)) return {};
  if (!hash_) {
    StrongHasher hasher;
    hasher.add(*program);
    hash_ = hasher.hash();
  }
  fetch::Order order;
  const std::string address = raw_address(at.address, at.port);
  if (address.empty() || address.size() > sizeof order.address ||
      guest.ticket.size() != sizeof order.ticket)
    return {};
  std::memcpy(order.hash, hash_->data(), sizeof order.hash);
  order.size = program->size();
  order.limit = static_cast<std::uint32_t>(
      std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(limit_).count(), 1));
  order.address_size = static_cast<std::uint32_t>(address.size());
  std::memcpy(order.address, address.data(), address.size());
  std::memcpy(order.ticket, guest.ticket.data(), sizeof order.ticket);
  return hex_digits({reinterpret_cast<const char*>(&order), sizeof order});
}

}  // namespace dlaunch
