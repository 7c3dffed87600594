// The parts of an ELF file that name functions: symbol tables, the build id and the name of a
// separate debug file. Trusts nothing in the file. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <elf.h>

namespace dlaunch {

/// Up to `size` bytes of the file from `offset`, fewer where it ends.
using ReadAt = std::function<std::string(std::uint64_t offset, std::size_t size)>;

/// Names of functions, by an address inside each; empty: not found yet.
using FunctionNames = std::map<std::uint64_t, std::string>;

/// Reads 64-bit files in this machine's byte order.
class ElfFile {
 public:
  /// nullopt: it is not such a file.
  [[nodiscard]] static std::optional<ElfFile> open(ReadAt read);

  /// e_machine, elf(5): which processors it is for.
  [[nodiscard]] std::uint16_t machine() const { return machine_; }
  /// Whether it is a program that runs without a dynamic linker and libraries.
  [[nodiscard]] bool is_static_program() const;
  /// Empty: it has none.
  [[nodiscard]] std::string build_id() const;
  /// The name in .gnu_debuglink; empty: none.
  [[nodiscard]] std::string debug_link() const;
  /// The address that the linker has assigned to an offset of the file.
  [[nodiscard]] std::optional<std::uint64_t> address_of(std::uint64_t offset) const;
  /// The unwind table (.eh_frame_hdr).
  [[nodiscard]] std::optional<Elf64_Phdr> unwind_table() const;

  /// Adds names from .symtab. False: that section was stripped.
  bool name_functions(FunctionNames& wanted) const;
  /// Adds names from .dynsym, which has only names that other objects may use.
  void name_exported(FunctionNames& wanted) const;

 private:
  explicit ElfFile(ReadAt read) : read_(std::move(read)) {}
  [[nodiscard]] const Elf64_Shdr* section(std::uint32_t type) const;
  [[nodiscard]] std::string text_at(std::uint64_t offset, std::size_t most) const;
  void name_from(const Elf64_Shdr& table, FunctionNames& wanted) const;

  ReadAt read_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::uint32_t names_ = 0;  // the section with names of sections
  std::uint16_t machine_ = 0;
  std::uint16_t type_ = 0;
  std::uint64_t entry_ = 0;
};

}  // namespace dlaunch
