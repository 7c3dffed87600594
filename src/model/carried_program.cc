#include "model/carried_program.h"

#include <charconv>

namespace dlaunch {

CarriedProgram carried_program(std::string_view packed, std::string_view sizes,
                               std::size_t number) {
  CarriedProgram program{packed};
  for (std::size_t i = 0; i <= number; ++i) {
    program.skip += program.size;
    std::from_chars(sizes.data(), sizes.data() + sizes.size(), program.size);
    sizes.remove_prefix(sizes.find('\n') + 1);
  }
  return program;
}

}  // namespace dlaunch
