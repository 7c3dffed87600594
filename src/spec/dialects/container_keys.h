// What foreign files say about containers, as keys of a native `container`.
#pragma once

#include "spec/dialects/dialect.h"

namespace dlaunch::spec {

/// Options of `docker run` in one text or one word: volumes become mounts of the container at
/// `path`, the rest is named in a note.
void read_docker_arguments(Translation& translation, const NativeJob::Path& path,
                           const PlacedText& arguments);

}  // namespace dlaunch::spec
