#include "fuzz_check.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <sanitizer/allocator_interface.h>

#include "text/utf8.h"

namespace dlaunch::fuzz {

namespace {

bool metering = false;
std::int64_t live = 0;
std::int64_t most = 0;

void on_malloc(const volatile void* /*block*/, std::size_t size) {
  if (!metering) return;
  live += static_cast<std::int64_t>(size);
  most = std::max(most, live);
}

void on_free(const volatile void* block) {
  if (!metering || block == nullptr) return;
  live -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(block));
}

}  // namespace

void check(bool holds, const char* what, std::string_view detail) {
  if (holds) return;
  std::fprintf(stderr, "CHECK FAILED: %s\n%.*s\n", what, static_cast<int>(detail.size()),
               detail.data());
  std::abort();
}

void check_message(std::string_view message, std::size_t longest_line, std::size_t most_bytes) {
  check(!message.empty(), "an error has a message");
  check(message.size() <= most_bytes, "an error message is short", message);
  std::size_t line = 0;
  for (std::size_t i = 0; i < message.size();) {
    const CodePoint c = decode_utf8(message.substr(i));
    check(c.valid, "an error message is UTF-8", message);
    check(c.value == '\n' || (c.value >= 0x20 && c.value != 0x7f),
          "an error message has no control characters", message);
    line = c.value == '\n' ? 0 : line + c.size;
    check(line <= longest_line, "a line of an error message is short", message);
    i += c.size;
  }
}

HeapMeter::HeapMeter() {
  static const bool installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0;
  check(installed, "the allocation hooks are installed");
  live = most = 0;
  metering = true;
}

HeapMeter::~HeapMeter() {
  metering = false;
}

std::int64_t HeapMeter::peak() {
  return most;
}

}  // namespace dlaunch::fuzz
