#include "node/stacks/elf_file.h"

#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

ReadAt reader(std::string bytes) {
  return [bytes = std::move(bytes)](std::uint64_t offset, std::size_t size) {
    return offset >= bytes.size() ? std::string() : bytes.substr(offset, size);
  };
}

template <class Part>
std::size_t append(std::string& to, const Part& part) {
  const std::size_t at = to.size();
  to.append(reinterpret_cast<const char*>(&part), sizeof part);
  return at;
}

Elf64_Sym symbol(std::uint32_t name, int binding, std::uint64_t value, std::uint64_t size,
                 std::uint16_t section = 1) {
  Elf64_Sym made{};
  made.st_name = name;
  made.st_info = static_cast<unsigned char>(ELF64_ST_INFO(binding, STT_FUNC));
  made.st_shndx = section;
  made.st_value = value;
  made.st_size = size;
  return made;
}

/// Code from offset 0x1000 at 0x401000, a build id "\1\2\3\4", functions __read (and read, weak) at
/// 0x401000 and step at 0x401040.
std::string small_file(std::uint32_t table = SHT_SYMTAB) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  header.e_phoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 5;
  header.e_shstrndx = 4;
  std::string bytes(sizeof header + 2 * sizeof(Elf64_Phdr), '\0');
  Elf64_Phdr code{};
  code.p_type = PT_LOAD;
  code.p_offset = 0x1000;
  code.p_vaddr = 0x401000;
  code.p_filesz = 0x100;
  Elf64_Phdr note{};
  note.p_type = PT_NOTE;
  note.p_offset = bytes.size();
  note.p_filesz = sizeof(Elf64_Nhdr) + 8;
  append(bytes, Elf64_Nhdr{4, 4, NT_GNU_BUILD_ID});
  bytes.append("GNU\0\1\2\3\4", 8);
  const std::string names("\0__read\0read\0step\0gone\0", 23);
  const std::size_t names_at = bytes.size();
  bytes += names;
  const std::size_t symbols_at = append(bytes, Elf64_Sym{});
  append(bytes, symbol(1, STB_GLOBAL, 0x401000, 0x40));
  append(bytes, symbol(8, STB_WEAK, 0x401000, 0x40));
  append(bytes, symbol(13, STB_LOCAL, 0x401040, 0x20));
  append(bytes, symbol(18, STB_GLOBAL, 0x401080, 0x20, SHN_UNDEF));
  const std::string sections("\0.gnu_debuglink\0", 16);
  const std::size_t sections_at = bytes.size();
  bytes += sections;
  const std::size_t link_at = bytes.size();
  bytes.append("small.debug\0", 12);
  header.e_shoff = bytes.size();
  append(bytes, Elf64_Shdr{});
  Elf64_Shdr one{};
  one.sh_type = table;
  one.sh_offset = symbols_at;
  one.sh_size = 5 * sizeof(Elf64_Sym);
  one.sh_entsize = sizeof(Elf64_Sym);
  one.sh_link = 2;
  append(bytes, one);
  one = {};
  one.sh_type = SHT_STRTAB;
  one.sh_offset = names_at;
  one.sh_size = names.size();
  append(bytes, one);
  one = {};
  one.sh_type = SHT_PROGBITS;
  one.sh_name = 1;
  one.sh_offset = link_at;
  one.sh_size = 12;
  append(bytes, one);
  one = {};
  one.sh_type = SHT_STRTAB;
  one.sh_offset = sections_at;
  one.sh_size = sections.size();
  append(bytes, one);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &code, sizeof code);
  std::memcpy(bytes.data() + sizeof header + sizeof code, &note, sizeof note);
  return bytes;
}

void ask_all(const std::string& bytes) {
  const auto file = ElfFile::open(reader(bytes));
  if (!file) return;
  FunctionNames wanted{{0, ""}, {0x401010, ""}, {0x401050, ""}, {~std::uint64_t{0}, ""}};
  (void)file->build_id();
  (void)file->debug_link();
  (void)file->address_of(0x1010);
  (void)file->unwind_table();
  (void)file->name_functions(wanted);
  file->name_exported(wanted);
}

TEST(ElfFile, NamesOfFunctionsTheBuildIdAndTheDebugFile) {
  const auto file = ElfFile::open(reader(small_file()));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->build_id(), "\1\2\3\4");
  EXPECT_EQ(file->debug_link(), "small.debug");
  EXPECT_EQ(file->address_of(0x1010), 0x401010U);
  EXPECT_EQ(file->address_of(0x1100), std::nullopt);
  EXPECT_FALSE(file->unwind_table());
  FunctionNames wanted{
      {0x400fff, ""}, {0x401010, ""}, {0x401050, ""}, {0x401060, ""}, {0x401080, ""}};
  EXPECT_TRUE(file->name_functions(wanted));
  EXPECT_EQ(
      wanted,
      (FunctionNames{
          {0x400fff, ""}, {0x401010, "read"}, {0x401050, "step"}, {0x401060, ""}, {0x401080, ""}}));
}

TEST(ElfFile, OneWithoutSymtabHasExportedNamesAndTakesNoneOfABetterTable) {
  const auto file = ElfFile::open(reader(small_file(SHT_DYNSYM)));
  ASSERT_TRUE(file);
  FunctionNames wanted{{0x401010, "better"}, {0x401050, ""}};
  EXPECT_FALSE(file->name_functions(wanted));
  file->name_exported(wanted);
  EXPECT_EQ(wanted, (FunctionNames{{0x401010, "better"}, {0x401050, "step"}}));
}

TEST(ElfFile, ACutOrDamagedFileDoesNoHarm) {
  const std::string whole = small_file();
  for (std::size_t size = 0; size < whole.size(); ++size) ask_all(whole.substr(0, size));
  std::minstd_rand random(1);  // the same bytes each time
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (int change = 0; change < 4; ++change)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 2 == 0 ? 0xff : random());
    ask_all(damaged);
  }
  EXPECT_FALSE(ElfFile::open(reader("#!/bin/sh\n")));
}

}  // namespace
}  // namespace dlaunch
