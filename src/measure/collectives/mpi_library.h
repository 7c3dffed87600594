// Initialization and finalization of MPI in this process, shared by all communicators over it.
#ifndef DLAUNCH_COLLECTIVES_MPI_LIBRARY_H
#define DLAUNCH_COLLECTIVES_MPI_LIBRARY_H

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "dlaunch/collectives/status.h"
#include "measure/collectives/mpi_types.h"

namespace dlaunch::collectives {

class MpiLibrary {
 public:
  /// Initializes MPI unless the program has done so. All callers share the result.
  static Result<std::shared_ptr<MpiLibrary>> get();

  /// Finalizes MPI if get() initialized it and no communicator is broken; waits for all ranks.
  ~MpiLibrary();
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

  /// Call this when requests are abandoned before they are complete.
  void set_broken() noexcept { broken_ = true; }

  [[nodiscard]] const MpiNames& names() const noexcept { return names_; }

 private:
  explicit MpiLibrary(bool initialized_here)
      : names_(make_mpi_names()), initialized_here_(initialized_here) {}

  MpiNames names_;
  bool initialized_here_;
  std::atomic<bool> broken_ = false;
};

/// "Open MPI v4.1.4"
std::string mpi_version();

/// The result of an MPI call; `what`: the operation, for the message.
Status mpi_status(int error, std::string_view what);

}  // namespace dlaunch::collectives

#endif
