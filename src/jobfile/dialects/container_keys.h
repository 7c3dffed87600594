// Translates container options of foreign files to keys of a native `container`.
#pragma once

#include "jobfile/dialects/dialect.h"

namespace dlaunch::jobfile {

/// Reads options of `docker run` from one text, for the container at `path`: adds volumes to
/// `mounts`; a note lists the options that dlaunch does not support.
void read_docker_arguments(Translation& translation, const NativeJob::Path& path,
                           const PlacedText& arguments, std::vector<PlacedText>& mounts);

}  // namespace dlaunch::jobfile
