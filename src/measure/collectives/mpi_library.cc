#include "measure/collectives/mpi_library.h"

#include <array>
#include <mutex>

#include <mpi.h>

namespace dlaunch::collectives {

Result<std::shared_ptr<MpiLibrary>> MpiLibrary::get() {
  static std::mutex mutex;
  static std::weak_ptr<MpiLibrary> shared;
  const std::lock_guard<std::mutex> lock(mutex);
  if (auto there = shared.lock()) return there;
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (finalized != 0) {
    return Status(Code::unavailable,
                  "MPI was finalized with the last communicator; keep one as long as MPI is "
                  "needed");
  }
  if (initialized == 0) {
    int provided = MPI_THREAD_SINGLE;
    const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    if (error != MPI_SUCCESS) return Status(Code::unavailable, "MPI_Init failed");
  }
  std::shared_ptr<MpiLibrary> made(new MpiLibrary(initialized == 0));
  shared = made;
  return made;
}

MpiLibrary::~MpiLibrary() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0 || broken_) return;
  free_mpi_names(names_);
  if (initialized_here_) MPI_Finalize();
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view whole(text.data(), static_cast<std::size_t>(length));
  return std::string(whole.substr(0, whole.find_first_of(",\n")));
}

Status mpi_status(int error, std::string_view what) {
  if (error == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(error, text.data(), &length);
  return {Code::internal,
          std::string(what) + ": " + std::string(text.data(), static_cast<std::size_t>(length))};
}

}  // namespace dlaunch::collectives
