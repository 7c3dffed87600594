#include "node/stacks/unwinder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <libunwind.h>

#include "node/stacks/elf_file.h"

// Exported by libunwind for tools that, like perf, find the tables themselves; declared in no
// header.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*,
                                                  unw_proc_info_t*, int, void*);

namespace dlaunch {

namespace {

// For aarch64, libunwind means by UNW_REG_IP the link register: the address at which the calling
// function goes on, but not where an interrupted one stands.
#if defined(__aarch64__)
constexpr int kProgramCounter = UNW_AARCH64_PC;
constexpr int kFrameRecord = UNW_AARCH64_X29;  // the register that has its address
#else
constexpr int kProgramCounter = UNW_REG_IP;
constexpr int kFrameRecord = -1;  // most functions make none
#endif

/// Before 1.7, libunwind for aarch64 cannot read the unwind information of functions that sign
/// their return address (-mbranch-protection). It would then go on at the link register, which only
/// helps in an innermost function without any unwind information.
bool cannot_step(unw_cursor_t& cursor, bool is_return_address) {
  unw_proc_info_t function;
  const int error = ::unw_get_proc_info(&cursor, &function);
  return error < 0 && (is_return_address || error != -UNW_ENOINFO);
}

/// The table in .eh_frame_hdr that says where the unwind information of an address is, if the table
/// has the format that linkers write: a header of 12 bytes, then pairs of 4 bytes.
std::optional<unw_dyn_info_t> find_table(ProcessMemory& memory, std::uint64_t address) {
  const MappedObject object = object_at(memory, address);
  if (object.mappings.empty()) return std::nullopt;
  const auto elf = ElfFile::open(
      [&](std::uint64_t offset, std::size_t size) { return object.read(memory, offset, size); });
  const auto segment = elf ? elf->unwind_table() : std::nullopt;
  const Mapping& its = *memory.mapping_at(address);
  const auto linked = elf ? elf->address_of(its.offset + (address - its.start)) : std::nullopt;
  if (!segment || !linked) return std::nullopt;
  const std::uint64_t table = address - *linked + segment->p_vaddr;
  constexpr std::uint8_t kHeader[] = {1, 0x1b, 0x03, 0x3b};
  std::uint8_t header[12];
  if (!memory.read_kept(table, header, sizeof header) ||
      !std::equal(std::begin(kHeader), std::end(kHeader), header))
    return std::nullopt;
  std::uint32_t count = 0;
  std::memcpy(&count, header + 8, sizeof count);
  unw_dyn_info_t found{};
  found.start_ip = object.mappings.front()->start;
  found.end_ip = object.mappings.back()->end;
  found.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  found.u.rti.segbase = table;
  found.u.rti.table_data = table + sizeof header;
  found.u.rti.table_len = count * 2 * sizeof(std::uint32_t) / sizeof(unw_word_t);
  return found;
}

}  // namespace

std::string MappedObject::read(const ProcessMemory& memory, std::uint64_t offset,
                               std::size_t size) const {
  for (const Mapping* one : mappings) {
    if (offset < one->offset || offset - one->offset >= one->end - one->start) continue;
    const std::uint64_t begin = offset - one->offset;
    return memory.read(one->start + begin,
                       std::min<std::uint64_t>(size, one->end - one->start - begin));
  }
  return "";
}

MappedObject object_at(const ProcessMemory& memory, std::uint64_t address) {
  const Mapping* const its = memory.mapping_at(address);
  if (its == nullptr || its->path.empty()) return {};
  MappedObject object;
  const auto& all = memory.mappings();
  const auto is_of_it = [&](const Mapping& one) {
    return one.file == its->file && one.path == its->path;
  };
  // A file may be mapped more than once, so go back to the mapping with the file's start.
  std::size_t begin = static_cast<std::size_t>(its - all.data());
  while (begin > 0 && all[begin].offset > 0 &&
         (is_of_it(all[begin - 1]) || all[begin - 1].path.empty()))
    --begin;
  for (std::size_t i = begin; i < all.size(); ++i) {
    if (&all[i] > its && all[i].offset == 0) break;
    if (is_of_it(all[i]))
      object.mappings.push_back(&all[i]);
    else if (!all[i].path.empty() && &all[i] > its)
      break;
  }
  return object;
}

struct Unwinder::State {
  ProcessMemory* memory;
  const ThreadSnapshot* thread = nullptr;
  unw_addr_space_t space = nullptr;
  std::map<std::uint64_t, std::optional<unw_dyn_info_t>> tables;  // by the start of a mapping

  static State& of(void* argument) { return *static_cast<State*>(argument); }

  static int find_proc_info(unw_addr_space_t space, unw_word_t address, unw_proc_info_t* info,
                            int needs_unwind_info, void* argument) {
    State& self = of(argument);
    const Mapping* const its = self.memory->mapping_at(address);
    if (its == nullptr) return -UNW_ENOINFO;
    const auto [found, is_new] = self.tables.try_emplace(its->start);
    if (is_new) found->second = find_table(*self.memory, address);
    if (!found->second) return -UNW_ENOINFO;
    return UNW_OBJ(dwarf_search_unwind_table)(space, address, &*found->second, info,
                                              needs_unwind_info, argument);
  }

  static int access_memory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int is_write,
                           void* argument) {
    const State& self = of(argument);
    const ThreadSnapshot& thread = *self.thread;
    if (is_write != 0) return -UNW_EINVAL;
    const std::uint64_t at = address - thread.stack_begin;
    if (address >= thread.stack_begin && thread.stack.size() >= sizeof *value &&
        at <= thread.stack.size() - sizeof *value) {
      std::memcpy(value, thread.stack.data() + at, sizeof *value);
      return 0;
    }
    return self.memory->read_kept(address, value, sizeof *value) ? 0 : -UNW_EINVAL;
  }

  static int access_register(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int is_write,
                             void* argument) {
    const auto& registers = of(argument).thread->registers;
    const auto index = static_cast<std::size_t>(number);
    if (is_write != 0 || number < 0 || index >= registers.size()) return -UNW_EBADREG;
    *value = registers[index];
    return 0;
  }

  void follow_frame_records(std::uint64_t record, std::size_t most,
                            std::vector<std::uint64_t>& addresses);
};

/// Compilers for aarch64 keep a chain of frame records (AAPCS64, "The Frame Pointer"): the record
/// of the calling function, and the return address.
void Unwinder::State::follow_frame_records(std::uint64_t record, std::size_t most,
                                           std::vector<std::uint64_t>& addresses) {
  if (memory->mappings().empty() || addresses.empty()) return;
  // A signature of the address (-mbranch-protection) is in bits that no address has.
  const std::uint64_t bits = std::bit_ceil(memory->mappings().back().end) - 1;
  bool is_first = true;
  while (record != 0 && addresses.size() < most) {
    unw_word_t found[2];
    if (access_memory(space, record, &found[0], 0, this) != 0 ||
        access_memory(space, record + sizeof found[0], &found[1], 0, this) != 0)
      return;
    const std::uint64_t address = found[1] & bits;
    if (memory->mapping_at(address) == nullptr) return;
    // That of an innermost function without unwind information: libunwind was there already.
    const bool is_known = std::exchange(is_first, false) && addresses.back() == address - 1;
    if (!is_known) addresses.push_back(address - 1);
    if (found[0] <= record) return;  // the outermost, or no chain
    record = found[0];
  }
}

Unwinder::Unwinder(ProcessMemory& memory) : state_(std::make_unique<State>()) {
  state_->memory = &memory;
  unw_accessors_t accessors{};
  accessors.find_proc_info = &State::find_proc_info;
  accessors.put_unwind_info = [](unw_addr_space_t, unw_proc_info_t*, void*) {};
  accessors.get_dyn_info_list_addr = [](unw_addr_space_t, unw_word_t*, void*) {
    return -UNW_ENOINFO;
  };
  accessors.access_mem = &State::access_memory;
  accessors.access_reg = &State::access_register;
  accessors.access_fpreg = [](unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) {
    return -UNW_EBADREG;
  };
  accessors.resume = [](unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; };
  accessors.get_proc_name = [](unw_addr_space_t, unw_word_t, char*, std::size_t, unw_word_t*,
                               void*) { return -UNW_ENOINFO; };
  state_->space = ::unw_create_addr_space(&accessors, 0);
  if (state_->space != nullptr) ::unw_set_caching_policy(state_->space, UNW_CACHE_GLOBAL);
}

Unwinder::~Unwinder() {
  if (state_->space != nullptr) ::unw_destroy_addr_space(state_->space);
}

std::vector<std::uint64_t> Unwinder::unwind(const ThreadSnapshot& thread, std::size_t most) {
  std::vector<std::uint64_t> addresses;
  state_->thread = &thread;
  unw_cursor_t cursor;
  if (state_->space == nullptr || ::unw_init_remote(&cursor, state_->space, state_.get()) != 0)
    return addresses;
  bool is_return_address = false;
  do {
    unw_word_t address = 0;
    const int where = is_return_address ? static_cast<int>(UNW_REG_IP) : kProgramCounter;
    if (::unw_get_reg(&cursor, where, &address) != 0 || address == 0) break;
    addresses.push_back(address - (is_return_address ? 1 : 0));
    const bool is_signal_frame = ::unw_is_signal_frame(&cursor) > 0;
    if (kFrameRecord >= 0 && !is_signal_frame && cannot_step(cursor, is_return_address)) break;
    // The address of a frame that a signal has interrupted is exact, because that frame has called
    // nothing.
    is_return_address = !is_signal_frame;
  } while (addresses.size() < most && ::unw_step(&cursor) > 0);
  unw_word_t record = 0;
  if (kFrameRecord >= 0 && ::unw_get_reg(&cursor, kFrameRecord, &record) == 0)
    state_->follow_frame_records(record, most, addresses);
  return addresses;
}

}  // namespace dlaunch
