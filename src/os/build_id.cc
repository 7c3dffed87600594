#include "os/build_id.h"

#include <cstring>
#include <string_view>

#include <elf.h>
#include <link.h>

#include "text/hex.h"

namespace dlaunch {

namespace {

std::string find_in_notes(const unsigned char* notes, std::size_t size) {
  // Layout of elf(5): header, name padded to 4, descriptor padded to 4.
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes + at, sizeof header);
    const std::size_t name = at + sizeof header;
    const std::size_t descriptor = name + ((header.n_namesz + 3U) & ~3U);
    if (descriptor + header.n_descsz > size) return "";
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(notes + name, "GNU", 4) == 0) {
      return hex_digits({reinterpret_cast<const char*>(notes + descriptor), header.n_descsz});
    }
    at = descriptor + ((header.n_descsz + 3U) & ~3U);
  }
  return "";
}

int visit(dl_phdr_info* object, std::size_t, void* result) {
  std::string& found = *static_cast<std::string*>(result);
  for (ElfW(Half) i = 0; i < object->dlpi_phnum && found.empty(); ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    found =
        find_in_notes(reinterpret_cast<const unsigned char*>(object->dlpi_addr + segment.p_vaddr),
                      segment.p_memsz);
  }
  return 1;  // the first object is the program itself
}

}  // namespace

std::string own_build_id() {
  std::string found;
  ::dl_iterate_phdr(visit, &found);
  return found.empty() ? "unknown" : found;
}

}  // namespace dlaunch
