#include "model/result.h"

#include <system_error>

namespace dlaunch {

std::string errno_text(int error_number) {
  return std::error_code(error_number, std::generic_category()).message();
}

tl::unexpected<Error> fail_errno(int code, const std::string& what, int error_number) {
  return fail(code, what + ": " + errno_text(error_number));
}

}  // namespace dlaunch
