// What people and administrators have set for Open MPI in files (its "MCA parameters"): a variable
// of ours would win over them. Source: Open MPI 4.1, "How do I set the value of MCA parameters?" of
// its FAQ, and what `ompi_info --all` says of mca_base_param_files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"

namespace dlaunch::fabric {

/// The files that Open MPI reads for a process with this environment, the one that wins first:
/// those of OMPI_MCA_mca_base_param_files, else mca-params.conf of the user and
/// openmpi-mca-params.conf of the installation. Where that is, nobody says for sure, so there are
/// several: below OPAL_PREFIX or OPAL_SYSCONFDIR, beside the folders of LD_LIBRARY_PATH, and where
/// Debian, Fedora and /usr/local have it. Absolute ones only.
struct McaFiles {
  std::vector<std::string> chosen;        // all that are there are read
  std::vector<std::string> installation;  // the first that is there is read after those
  bool operator==(const McaFiles&) const = default;
};
[[nodiscard]] McaFiles mca_files(const Environment& environment);

/// Lines "name = value" or "-mca name value", "#" before a comment (opal/util/keyval). Adds what
/// `settings` has not, as the variable that would say the same: OMPI_MCA_name. Odd lines are none.
void add_mca_settings(std::string_view text, Environment& settings);

/// What is set in these files, below `root`. Of an installation's file, lists that only exclude
/// something ("^ucx") are none: distributions have such, and Debian's leaves no component for
/// one-sided communication over TCP. Never fails.
[[nodiscard]] Environment read_mca_settings(const std::string& root, const McaFiles& files);

}  // namespace dlaunch::fabric
