// The settings for Open MPI in files of users and administrators (its "MCA parameters"), which a
// variable of ours would override. Source: Open MPI 4.1, "How do I set the value of MCA
// parameters?" of its FAQ, and what `ompi_info --all` says about mca_base_param_files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"

namespace dlaunch::fabric {

/// The absolute paths of files that Open MPI reads for a process with this environment, in order of
/// precedence: those of OMPI_MCA_mca_base_param_files, else mca-params.conf of the user and
/// openmpi-mca-params.conf of the installation. The latter's location is not known for certain, so
/// there are several candidates: below OPAL_PREFIX or OPAL_SYSCONFDIR, beside the folders of
/// LD_LIBRARY_PATH, and the defaults of Debian, Fedora and /usr/local.
struct McaFiles {
  std::vector<std::string> chosen;        // all existing ones are read
  std::vector<std::string> installation;  // then the first existing one
  bool operator==(const McaFiles&) const = default;
};
[[nodiscard]] McaFiles mca_files(const Environment& environment);

/// Lines "name = value" or "-mca name value", "#" before a comment (opal/util/keyval). Adds what
/// `settings` lacks, as the equivalent variable OMPI_MCA_name. Ignores other lines.
void add_mca_settings(std::string_view text, Environment& settings);

/// The settings of these files, below `root`, without those of an installation's file that only
/// exclude components ("^ucx"): distributions have some, and Debian's leaves no component for
/// one-sided communication over TCP. Never fails.
[[nodiscard]] Environment read_mca_settings(const std::string& root, const McaFiles& files);

}  // namespace dlaunch::fabric
