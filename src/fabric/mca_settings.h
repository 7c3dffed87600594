// Open MPI's settings ("MCA parameters") in files of users and administrators. The variables that
// dlaunch sets would override them. Sources: the FAQ of Open MPI 4.1, "How do I set the value of
// MCA parameters?", and what `ompi_info --all` says about mca_base_param_files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"

namespace dlaunch::fabric {

/// The absolute paths of the files that Open MPI reads for a process with a given environment, in
/// order of precedence: those in OMPI_MCA_mca_base_param_files, else mca-params.conf of the user
/// and openmpi-mca-params.conf of the installation. The location of the installation's file is
/// uncertain, so there are several candidates: below OPAL_PREFIX or OPAL_SYSCONFDIR, beside the
/// folders of LD_LIBRARY_PATH, and the defaults of Debian, Fedora and /usr/local.
struct McaFiles {
  std::vector<std::string> chosen;        // all existing ones are read
  std::vector<std::string> installation;  // after those, only the first existing one is read
  bool operator==(const McaFiles&) const = default;
};
[[nodiscard]] McaFiles mca_files(const Environment& environment);

/// Lines "name = value" or "-mca name value", "#" before a comment (opal/util/keyval). Adds the
/// settings that `settings` lacks, as the equivalent variables OMPI_MCA_name. Ignores other lines.
void add_mca_settings(std::string_view text, Environment& settings);

/// The settings in these files, which are below `root`. Leaves out settings in an installation's
/// file that only exclude components ("^ucx"): distributions ship such settings, and Debian's leave
/// no component for one-sided communication over TCP. Never fails.
[[nodiscard]] Environment read_mca_settings(const std::string& root, const McaFiles& files);

}  // namespace dlaunch::fabric
