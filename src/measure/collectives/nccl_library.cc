#include "measure/collectives/nccl_library.h"

#include <dlfcn.h>

namespace dlaunch::collectives {

namespace {

constexpr const char* kFile = "libnccl.so.2";

class Loader {
 public:
  explicit Loader(void* handle) : handle_(handle) {}

  template <typename Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  /// The name of the first function that is missing.
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* handle_;
  std::string missing_;
};

std::string find_all(void* handle, NcclLibrary& library) {
  Loader loader(handle);
  loader.find("ncclGetVersion", library.get_version);
  loader.find("ncclGetUniqueId", library.get_unique_id);
  loader.find("ncclGetErrorString", library.get_error_string);
  loader.find("ncclGetLastError", library.get_last_error);
  loader.find("ncclCommInitRankConfig", library.comm_init_rank_config);
  loader.find("ncclCommSplit", library.comm_split);
  loader.find("ncclCommCount", library.comm_count);
  loader.find("ncclCommUserRank", library.comm_user_rank);
  loader.find("ncclCommFinalize", library.comm_finalize);
  loader.find("ncclCommDestroy", library.comm_destroy);
  loader.find("ncclCommAbort", library.comm_abort);
  loader.find("ncclCommGetAsyncError", library.comm_get_async_error);
  loader.find("ncclGroupStart", library.group_start);
  loader.find("ncclGroupEnd", library.group_end);
  loader.find("ncclBroadcast", library.broadcast);
  loader.find("ncclReduce", library.reduce);
  loader.find("ncclAllReduce", library.all_reduce);
  loader.find("ncclAllGather", library.all_gather);
  loader.find("ncclReduceScatter", library.reduce_scatter);
  loader.find("ncclSend", library.send);
  loader.find("ncclRecv", library.receive);
  return loader.missing();
}

Result<const NcclLibrary*> load() {
  static NcclLibrary library;
  void* handle = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return Status(Code::unavailable,
                  std::string("nccl: ") + (why != nullptr ? why : kFile) +
                      "; pip installs NCCL in nvidia/nccl/lib: add that folder to LD_LIBRARY_PATH");
  }
  const std::string missing = find_all(handle, library);
  if (!missing.empty()) {
    return Status(Code::unavailable,
                  std::string("nccl: ") + kFile + " has no " + missing + ": it is older than 2.18");
  }
  return &library;
}

}  // namespace

std::string NcclLibrary::version() const {
  int number = 0;  // 22809: NCCL_VERSION() of nccl.h
  if (get_version(&number) != ncclSuccess) return "of an unknown version";
  return std::to_string(number / 10000) + '.' + std::to_string(number / 100 % 100) + '.' +
         std::to_string(number % 100);
}

Result<const NcclLibrary*> NcclLibrary::get() {
  static const Result<const NcclLibrary*> loaded = load();
  return loaded;
}

}  // namespace dlaunch::collectives
