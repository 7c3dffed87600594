#include "pmix/image.h"

namespace dlaunch::pmix {

std::string_view helper_image() {
  return {};
}

}  // namespace dlaunch::pmix
