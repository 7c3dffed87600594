#include "node/stacks/elf_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

namespace dlaunch {

namespace {

constexpr std::size_t kMostSegments = 256;
constexpr std::size_t kMostName = 2048;  // names from C++ templates can be very long
constexpr std::size_t kMostNotes = 4096;
constexpr std::size_t kSymbolsAtOnce = 4096;
constexpr std::uint64_t kMostSymbols = std::uint64_t{1} << 24;

/// Reads as many whole entries as there are.
template <class Entry>
std::vector<Entry> entries_at(const ReadAt& read, std::uint64_t offset, std::size_t count) {
  const std::string bytes = read(offset, count * sizeof(Entry));
  std::vector<Entry> entries(bytes.size() / sizeof(Entry));
  if (!entries.empty()) std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(Entry));
  return entries;
}

/// If a function has several names, the one that people use sorts first: read, not __read;
/// PMPI_Recv, which is global, not MPI_Recv, which is weak.
std::tuple<bool, std::size_t, int> order_of(const std::string& name, unsigned char info) {
  const std::size_t underscores = std::min(name.find_first_not_of('_'), name.size());
  const bool is_mangled = name.starts_with("_Z");
  const int binding = ELF64_ST_BIND(info);
  const int preference = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
  return {name.empty(), is_mangled ? 0 : underscores, preference};
}

}  // namespace

std::optional<ElfFile> ElfFile::open(ReadAt read) {
  const auto headers = entries_at<Elf64_Ehdr>(read, 0, 1);
  if (headers.empty()) return std::nullopt;
  const Elf64_Ehdr& header = headers.front();
  constexpr unsigned char kOrder =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != kOrder)
    return std::nullopt;
  ElfFile file(std::move(read));
  if (header.e_phentsize == sizeof(Elf64_Phdr))
    file.segments_ = entries_at<Elf64_Phdr>(file.read_, header.e_phoff,
                                            std::min<std::size_t>(header.e_phnum, kMostSegments));
  if (header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shoff != 0)
    file.sections_ = entries_at<Elf64_Shdr>(file.read_, header.e_shoff, header.e_shnum);
  file.names_ = header.e_shstrndx;
  file.machine_ = header.e_machine;
  file.type_ = header.e_type;
  file.entry_ = header.e_entry;
  return file;
}

/// A program with a fixed address has ET_EXEC, any other ET_DYN, as libraries have; libraries need
/// no interpreter either, but have no entry address.
bool ElfFile::is_static_program() const {
  const auto has = [this](std::uint32_t type) {
    return std::any_of(segments_.begin(), segments_.end(),
                       [type](const Elf64_Phdr& one) { return one.p_type == type; });
  };
  return (type_ == ET_EXEC || type_ == ET_DYN) && entry_ != 0 && has(PT_LOAD) && !has(PT_INTERP);
}

std::string ElfFile::build_id() const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_NOTE) continue;
    const std::string notes =
        read_(segment.p_offset, std::min<std::uint64_t>(segment.p_filesz, kMostNotes));
    const std::size_t alignment = segment.p_align == 8 ? 8 : 4;
    const auto aligned = [alignment](std::size_t size) {
      return (size + alignment - 1) / alignment * alignment;
    };
    for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
      Elf64_Nhdr note;
      std::memcpy(&note, notes.data() + at, sizeof note);
      const std::size_t name = at + sizeof note;
      const std::size_t content = name + aligned(note.n_namesz);
      const std::size_t end = content + aligned(note.n_descsz);
      if (content + note.n_descsz > notes.size()) break;
      if (note.n_type == NT_GNU_BUILD_ID && notes.compare(name, note.n_namesz, "GNU\0", 4) == 0)
        return notes.substr(content, note.n_descsz);
      at = end;
    }
  }
  return "";
}

std::string ElfFile::debug_link() const {
  if (names_ >= sections_.size()) return "";
  for (const Elf64_Shdr& one : sections_) {
    if (one.sh_type == SHT_PROGBITS &&
        text_at(sections_[names_].sh_offset + one.sh_name, 32) == ".gnu_debuglink")
      return text_at(one.sh_offset, 256);
  }
  return "";
}

std::optional<std::uint64_t> ElfFile::address_of(std::uint64_t offset) const {
  for (const Elf64_Phdr& one : segments_) {
    if (one.p_type == PT_LOAD && offset >= one.p_offset && offset - one.p_offset < one.p_filesz)
      return offset - one.p_offset + one.p_vaddr;
  }
  return std::nullopt;
}

std::optional<Elf64_Phdr> ElfFile::unwind_table() const {
  for (const Elf64_Phdr& one : segments_) {
    if (one.p_type == PT_GNU_EH_FRAME) return one;
  }
  return std::nullopt;
}

bool ElfFile::name_functions(FunctionNames& wanted) const {
  const Elf64_Shdr* const table = section(SHT_SYMTAB);
  if (table == nullptr) return false;
  name_from(*table, wanted);
  return true;
}

void ElfFile::name_exported(FunctionNames& wanted) const {
  if (const Elf64_Shdr* const table = section(SHT_DYNSYM)) name_from(*table, wanted);
}

const Elf64_Shdr* ElfFile::section(std::uint32_t type) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [type](const Elf64_Shdr& one) { return one.sh_type == type; });
  return found == sections_.end() ? nullptr : &*found;
}

std::string ElfFile::text_at(std::uint64_t offset, std::size_t most) const {
  std::string text = read_(offset, most);
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

void ElfFile::name_from(const Elf64_Shdr& table, FunctionNames& wanted) const {
  if (table.sh_entsize != sizeof(Elf64_Sym) || table.sh_link >= sections_.size()) return;
  const std::uint64_t names = sections_[table.sh_link].sh_offset;
  const std::uint64_t count = std::min(table.sh_size / sizeof(Elf64_Sym), kMostSymbols);
  std::map<std::uint64_t, std::tuple<bool, std::size_t, int>> orders;
  for (std::uint64_t begin = 0; begin < count; begin += kSymbolsAtOnce) {
    const auto symbols =
        entries_at<Elf64_Sym>(read_, table.sh_offset + begin * sizeof(Elf64_Sym),
                              std::min<std::uint64_t>(count - begin, kSymbolsAtOnce));
    if (symbols.empty()) return;
    for (const Elf64_Sym& symbol : symbols) {
      const int type = ELF64_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
      for (auto one = wanted.lower_bound(symbol.st_value);
           one != wanted.end() && one->first - symbol.st_value < symbol.st_size; ++one) {
        const bool is_ours = orders.contains(one->first);
        if (!one->second.empty() && !is_ours) continue;  // a better table has it
        std::string name = text_at(names + symbol.st_name, kMostName);
        const auto order = order_of(name, symbol.st_info);
        if (name.empty() || (is_ours && orders[one->first] <= order)) continue;
        orders[one->first] = order;
        one->second = std::move(name);
      }
    }
  }
}

}  // namespace dlaunch
