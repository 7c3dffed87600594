// Whatever a rank writes to its PMI-1 socket, it gets answers that its library understands, in
// bounded memory; and what it has put can be forwarded.
#include <algorithm>
#include <string>
#include <string_view>

#include "fuzz_check.h"
#include "node/pmi/conversation.h"
#include "planted_bug.h"

namespace dlaunch::pmi {
namespace {

using fuzz::check;

// MPICH, src/pmi/src/pmi_util.h: PMIU_MAXLINE.
constexpr std::size_t kClientsLine = 1024;
constexpr std::size_t kMostPut = 8192;

void check_said(const Conversation::Said& said) {
  check(said.text.size() <= kClientsLine, "an answer fits into a client's line", said.text);
  check(said.text.empty() || said.text.find('\n') == said.text.size() - 1, "an answer is one line",
        said.text);
  check(said.text.empty() || said.text.starts_with("cmd="), "an answer says which", said.text);
  check(said.text.find('\0') == std::string::npos, "an answer is text", said.text);
  if (!said.what.empty()) fuzz::check_message(said.what, 200, 200);
}

/// Planted bug: a buffer for twelve bytes where a value may be longer.
[[maybe_unused]] void planted_bug(const KeySpace& space) {
  if (const auto value = space.get("b")) fuzz::fill_buffer(12, value->size());
}

/// The bytes arrive in pieces whose sizes the first byte determines.
void read(std::string_view bytes) {
  const fuzz::HeapMeter meter;
  KeySpace space({"dlaunch-1", 4, "(vector,(0,2,2))", kMostPut});
  KeySpace elsewhere(space.job());
  Conversation rank;
  const std::size_t piece = bytes.empty() ? 1 : 1 + static_cast<unsigned char>(bytes.front());
  if (!bytes.empty()) bytes.remove_prefix(1);
  while (!bytes.empty()) {
    rank.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (const auto said = rank.next(space)) {
      check_said(*said);
      if (said->kind != Conversation::Kind::at_barrier) continue;
      const std::string puts = space.take_puts();
      check(puts.size() <= kMostPut, "puts have an end");
      check(elsewhere.add_puts(puts), "puts can be passed on", puts);
      check(!rank.barrier_out().empty(), "it waits");
    }
  }
  check(fuzz::HeapMeter::peak() <= 1 << 20, "memory follows what came");
  if (fuzz::kPlanted) planted_bug(space);
}

}  // namespace
}  // namespace dlaunch::pmi

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dlaunch::pmi::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
