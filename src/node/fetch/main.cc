// dlaunch-fetch: gets dlaunch from a node that has it (node/reach/program_door.h), onto a node that
// has only a shell. Reads an Order on stdin, shows the ticket, copies what it receives to stdout
// and exits with 0 if that is the program with the hash; else with 1 and the reason on stderr. It
// makes system calls itself (syscall(2)): a C library would have to be sent to each node with it.
#include <cstddef>
#include <cstdint>

#include "node/fetch/blake2b.h"
#include "node/fetch/fetch_order.h"

namespace {

using dlaunch::fetch::Blake2b;
using dlaunch::fetch::Order;

#if defined(__x86_64__)
enum Call : long {
  kRead = 0,
  kWrite = 1,
  kSignalAction = 13,
  kSignalMask = 14,
  kSetTimer = 38,
  kSocket = 41,
  kConnect = 42,
  kExit = 231
};
long raw_call(long number, long a, long b, long c, long d = 0) {
  long result = 0;
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                   : "rcx", "r11", "memory");
  return result;
}
__asm__(
    ".globl _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  and $-16, %rsp\n"
    "  call fetch_main\n");
#elif defined(__aarch64__)
enum Call : long {
  kRead = 63,
  kWrite = 64,
  kSetTimer = 103,
  kSignalAction = 134,
  kSignalMask = 135,
  kSocket = 198,
  kConnect = 203,
  kExit = 94
};
long raw_call(long number, long a, long b, long c, long d = 0) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
}
__asm__(
    ".globl _start\n"
    "_start:\n"
    "  bl fetch_main\n");
#endif

constexpr long kInterrupted = -4;  // -EINTR

long call(long number, long a, const void* b, std::size_t c) {
  long result = kInterrupted;
  while (result == kInterrupted)
    result = raw_call(number, a, reinterpret_cast<long>(b), static_cast<long>(c));
  return result;
}

[[noreturn]] void leave(int code) {
  while (true) raw_call(kExit, code, 0, 0);
}

/// `result`: of a system call; a negative one is an error number, which is printed.
[[noreturn]] void give_up(const char* what, long result = 0) {
  char text[96];
  std::size_t size = 0;
  for (; what[size] != 0; ++size) text[size] = what[size];
  if (result < 0) {
    for (const char* word = " (errno "; *word != 0; ++word) text[size++] = *word;
    if (result <= -100) text[size++] = static_cast<char>('0' + -result / 100 % 10);
    if (result <= -10) text[size++] = static_cast<char>('0' + -result / 10 % 10);
    text[size++] = static_cast<char>('0' + -result % 10);
    text[size++] = ')';
  }
  text[size++] = '\n';
  call(kWrite, 2, text, size);
  leave(1);
}

int digit(unsigned char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

Order read_order() {
  unsigned char text[2 * sizeof(Order)];
  for (std::size_t have = 0; have < sizeof text;) {
    const long n = call(kRead, 0, text + have, sizeof text - have);
    if (n <= 0) give_up("no order", n);
    have += static_cast<std::size_t>(n);
  }
  Order order;
  auto* const bytes = reinterpret_cast<unsigned char*>(&order);
  for (std::size_t i = 0; i < sizeof order; ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) give_up("a malformed order");
    bytes[i] = static_cast<unsigned char>(high * 16 + low);
  }
  if (order.address_size > sizeof order.address) give_up("an address that is too long");
  return order;
}

constexpr long kConnectLimit = 2;  // seconds: some networks drop unwanted packets

/// After this time SIGALRM ends this program, whatever it is waiting for.
void set_limit(long seconds) {
  const long timer[4] = {0, 0, seconds, 0};  // struct itimerval
  call(kSetTimer, 0, timer, 0);
}

/// Call this first, because a login may have left SIGALRM ignored or blocked.
void let_alarm_end_this() {
  constexpr long kAlarm = 14;     // SIGALRM
  const long by_default[4] = {};  // struct sigaction of the kernel
  const unsigned long mask = 1UL << (kAlarm - 1);
  raw_call(kSignalAction, kAlarm, reinterpret_cast<long>(by_default), 0, sizeof mask);
  raw_call(kSignalMask, 1, reinterpret_cast<long>(&mask), 0, sizeof mask);  // SIG_UNBLOCK
}

int connect_to(const Order& order) {
  const int family = order.address[0] | order.address[1] << 8;
  const long socket = raw_call(kSocket, family, 1, 0);  // SOCK_STREAM
  if (socket < 0) give_up("no socket", socket);
  const long connected = call(kConnect, socket, order.address, order.address_size);
  if (connected < 0) give_up(dlaunch::fetch::kNoConnection, connected);
  return static_cast<int>(socket);
}

void write_all(int file, const unsigned char* bytes, std::size_t size) {
  while (size > 0) {
    const long n = call(kWrite, file, bytes, size);
    if (n <= 0) give_up("the program cannot be written", n);
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
}

unsigned char piece[std::size_t{128} << 10];

}  // namespace

extern "C" {

// The compiler may call these for any loop and any initialization.
void* memset(void* to, int value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    static_cast<volatile unsigned char*>(to)[i] = static_cast<unsigned char>(value);
  return to;
}
void* memcpy(void* to, const void* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    static_cast<volatile unsigned char*>(to)[i] = static_cast<const unsigned char*>(from)[i];
  return to;
}

[[noreturn]] void fetch_main() {
  let_alarm_end_this();
  const Order order = read_order();
  const long limit = order.limit;
  set_limit(limit < kConnectLimit ? limit : kConnectLimit);
  const int socket = connect_to(order);
  set_limit(limit);
  write_all(socket, order.ticket, sizeof order.ticket);
  Blake2b hash;
  for (std::uint64_t left = order.size; left > 0;) {
    const long n = call(kRead, socket, piece,
                        left < sizeof piece ? static_cast<std::size_t>(left) : sizeof piece);
    if (n <= 0) give_up(dlaunch::fetch::kEndedEarly, n);
    hash.add(piece, static_cast<std::size_t>(n));
    write_all(1, piece, static_cast<std::size_t>(n));
    left -= static_cast<std::uint64_t>(n);
  }
  const std::uint64_t* const found = hash.end();
  for (std::size_t i = 0; i < 4; ++i) {
    if (found[i] != order.hash[i]) give_up(dlaunch::fetch::kOtherProgram);
  }
  leave(0);
}
}
