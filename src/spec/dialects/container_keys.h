// What foreign files say about containers, as keys of a native `container`.
#pragma once

#include "spec/dialects/dialect.h"

namespace dlaunch::spec {

/// Options of `docker run` in one text, for the container at `path`: its volumes are added to
/// `mounts`, what dlaunch has no key for is named in a note.
void read_docker_arguments(Translation& translation, const NativeJob::Path& path,
                           const PlacedText& arguments, std::vector<PlacedText>& mounts);

}  // namespace dlaunch::spec
