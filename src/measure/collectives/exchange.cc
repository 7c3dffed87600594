#include "measure/collectives/exchange.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dlaunch::collectives {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kFarewellLimit{5};
constexpr std::size_t kLongestLine = 16 * 1024;

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

int number_of(std::string_view text, int otherwise) {
  int number = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : otherwise;
}

Status failed(const std::string& why) {
  return {Code::internal, "the ranks cannot exchange their addresses (PMI_FD): " + why};
}

/// Milliseconds, for poll(2).
int left_until(Clock::time_point deadline, bool limited) {
  if (!limited) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

}  // namespace

std::string_view field_of(std::string_view line, std::string_view key) noexcept {
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
      return word.substr(key.size() + 1);
  }
  return {};
}

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    if (error != std::errc() || end != hex.data() + i + 2) return {};
    bytes += static_cast<char>(value);
  }
  return hex.size() % 2 == 0 ? bytes : std::string();
}

Exchange::Exchange(int descriptor, int rank, int size, std::chrono::milliseconds timeout)
    : descriptor_(descriptor), rank_(rank), size_(size), timeout_(timeout), owner_(::getpid()) {}

Exchange::~Exchange() {
  if (descriptor_ < 0 || owner_ != ::getpid()) return;
  timeout_ = kFarewellLimit;
  if (!broken_) (void)ask("cmd=finalize\n", "finalize_ack");
  ::close(descriptor_);
}

Result<std::shared_ptr<Exchange>> Exchange::get(std::chrono::milliseconds timeout) {
  static std::mutex mutex;
  static std::shared_ptr<Exchange> shared;
  const std::lock_guard<std::mutex> lock(mutex);
  if (shared) {
    shared->timeout_ = timeout;
    return shared;
  }
  const int descriptor = number_of(variable("PMI_FD"), -1);
  const int rank = number_of(variable("PMI_RANK"), 0);
  const int size = number_of(variable("PMI_SIZE"), 1);
  if (descriptor < 0) {
    const bool alone = number_of(variable("WORLD_SIZE"), 1) <= 1 &&
                       number_of(variable("OMPI_COMM_WORLD_SIZE"), 1) <= 1;
    if (!alone) {
      return Status(Code::unavailable,
                    "the ranks cannot find each other: PMI_FD is not set (dlaunch sets it with "
                    "framework: mpi)");
    }
    shared.reset(new Exchange(-1, 0, 1, timeout));
    return shared;
  }
  if (rank < 0 || size < 1 || rank >= size)
    return failed("PMI_RANK and PMI_SIZE contradict each other");
  std::shared_ptr<Exchange> made(new Exchange(descriptor, rank, size, timeout));
  if (Status begun = made->begin(); !begun.ok()) return begun;
  shared = made;
  return made;
}

Status Exchange::begin() {
  const auto greeted = ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init");
  if (!greeted) return greeted.status();
  const auto name = ask("cmd=get_my_kvsname\n", "my_kvsname");
  if (!name) return name.status();
  space_ = field_of(*name, "kvsname");
  return {};
}

Status Exchange::put(const std::string& key, std::string_view bytes) {
  const std::string value = " key=" + key + " value=" + hex_of(bytes) + '\n';
  return ask("cmd=put kvsname=" + space_ + value, "put_result").status();
}

Result<std::string> Exchange::get(const std::string& key) {
  const auto got = ask("cmd=get kvsname=" + space_ + " key=" + key + '\n', "get_result");
  if (!got) return got.status();
  std::string value = bytes_of(field_of(*got, "value"));
  return value.empty() ? Result<std::string>(failed("no value in \"" + *got + '"')) : value;
}

Result<std::string> Exchange::broadcast(std::string_view bytes) {
  if (descriptor_ < 0 || bytes.empty()) return std::string(bytes);
  const std::string key = "dlaunch-" + std::to_string(rounds_++);
  if (rank_ == 0) {
    if (Status done = put(key, bytes); !done.ok()) return done;
  }
  if (const auto met = ask("cmd=barrier_in\n", "barrier_out"); !met) return met.status();
  return get(key);
}

Result<std::vector<std::string>> Exchange::gather(std::string_view mine) {
  std::vector<std::string> all;
  if (descriptor_ < 0) {
    all.emplace_back(mine);
    return all;
  }
  const std::string key = "dlaunch-" + std::to_string(rounds_++) + '-';
  if (Status done = put(key + std::to_string(rank_), mine); !done.ok()) return done;
  if (const auto met = ask("cmd=barrier_in\n", "barrier_out"); !met) return met.status();
  for (int rank = 0; rank < size_; ++rank) {
    auto said = get(key + std::to_string(rank));
    if (!said) return said.status();
    all.push_back(std::move(*said));
  }
  return all;
}

Result<std::string> Exchange::ask(std::string_view line, std::string_view expected) {
  if (broken_) return failed("an earlier request failed");
  auto answer = answer_to(line, expected);
  broken_ = !answer;
  return answer;
}

Result<std::string> Exchange::answer_to(std::string_view line, std::string_view expected) {
  while (!line.empty()) {
    const ssize_t n = ::send(descriptor_, line.data(), line.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(std::strerror(errno));
    line.remove_prefix(static_cast<std::size_t>(n));
  }
  auto answer = read_line();
  if (!answer) return answer;
  const std::string_view code = field_of(*answer, "rc");
  if (field_of(*answer, "cmd") != expected || !(code.empty() || code == "0"))
    return failed("unexpected answer \"" + *answer + '"');
  return answer;
}

Result<std::string> Exchange::read_line() {
  const Clock::time_point deadline = Clock::now() + timeout_;
  while (unread_.find('\n') == std::string::npos) {
    if (unread_.size() > kLongestLine) return failed("the answer is too long");
    pollfd readable{descriptor_, POLLIN, 0};
    const int ready = ::poll(&readable, 1, left_until(deadline, timeout_.count() > 0));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0)
      return Status(Code::timed_out, "the other ranks did not exchange their addresses in time");
    std::array<char, 1024> bytes{};
    const ssize_t n = ::read(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed("the launcher of this rank closed the connection");
    unread_.append(bytes.data(), static_cast<std::size_t>(n));
  }
  const std::size_t end = unread_.find('\n');
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

}  // namespace dlaunch::collectives
