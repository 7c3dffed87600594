// What the keys of the native job file are called in job files of other systems, so that an error
// names the key that its reader has written.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dlaunch::spec {

struct KeyName {
  std::string_view native;   // "roles.*.env", where * is any one name
  std::string_view foreign;  // "containerSpec.env"
};

/// `path` ("env.RANK", "container.mounts[0]") with its beginning as the first of `names` that fits
/// calls it; the index of an item is left out then, since lists are put together from several
/// places. As it is if none fits.
[[nodiscard]] std::string foreign_key(std::span<const KeyName> names, std::string_view path);

}  // namespace dlaunch::spec
