#include "node/pmix/server.h"

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <utility>

#include <pmix.h>
#include <unistd.h>

#include "node/pmix/upcalls.h"

namespace dlaunch::pmix {

namespace {

tl::unexpected<Error> refused(const char* what, pmix_status_t status) {
  return fail(exit_code::kPreflight,
              std::string("OpenPMIx: ") + what + ": " + PMIx_Error_string(status));
}

/// A growing list of pmix_info_t that owns its content.
class Infos {
 public:
  Infos() = default;
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;
  ~Infos() {
    for (pmix_info_t& info : infos_) PMIX_INFO_DESTRUCT(&info);
  }
  void add(const char* key, const std::string& text) { load(key, text.c_str(), PMIX_STRING); }
  void add(const char* key, std::uint32_t number) { load(key, &number, PMIX_UINT32); }
  void add_rank(const char* key, pmix_rank_t rank) { load(key, &rank, PMIX_PROC_RANK); }
  void add_true(const char* key) {
    bool yes = true;
    load(key, &yes, PMIX_BOOL);
  }
  /// The result of PMIx_generate_regex may contain NUL; its type encodes the length.
  void add_map(const char* key, char* map) { load(key, map, PMIX_REGEX); }
  [[nodiscard]] pmix_info_t* data() { return infos_.data(); }
  [[nodiscard]] std::size_t size() const { return infos_.size(); }

 private:
  void load(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t& info = infos_.emplace_back();
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);
  }
  std::vector<pmix_info_t> infos_;
};

/// Waits for an operation that the library runs on its own thread.
class Completion {
 public:
  static void done(pmix_status_t status, void* context) {
    auto& self = *static_cast<Completion*>(context);
    const std::lock_guard lock(self.mutex_);
    self.status_ = status;
    self.is_done_ = true;
    self.changed_.notify_one();
  }
  /// `called`: what the call that began the operation returned.
  [[nodiscard]] pmix_status_t wait(pmix_status_t called) {
    if (called == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
    if (called != PMIX_SUCCESS) return called;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_done_; });
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  pmix_status_t status_ = PMIX_SUCCESS;
};

std::string list_of(const std::vector<RankSpan>& spans) {
  std::string list;
  for (const RankSpan& span : spans) {
    for (std::uint32_t i = 0; i < span.count; ++i)
      list += (list.empty() ? "" : ",") + std::to_string(span.first.value + i);
  }
  return list;
}

pmix_proc_t proc_of(const std::string& name_space, pmix_rank_t rank) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, name_space.c_str(), rank);
  return proc;
}

/// The library calls this for data that it was given and no longer needs.
void free_bytes(void* context) {
  delete static_cast<std::string*>(context);
}

}  // namespace

void Server::say(const HelperMessage& message) {
  const std::string frame = encode(message);
  const std::lock_guard lock(writing_);
  std::size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t n = ::write(agent_, frame.data() + sent, frame.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) std::_Exit(exit_code::kInternal);  // the agent is dead, and we are about to be
    sent += static_cast<std::size_t>(n);
  }
}

Result<std::vector<Ready::OfRank>> Server::begin(const Setup& setup) {
  name_space_ = setup.name_space;
  if (const Status s = start_library(setup); !s) return tl::unexpected(s.error());
  if (const Status s = register_job(setup); !s) return tl::unexpected(s.error());
  std::vector<Ready::OfRank> ranks;
  for (const RankSpan& span : setup.nodes[setup.node].ranks) {
    for (std::uint32_t i = 0; i < span.count; ++i) {
      auto env = register_rank(span.first.value + i);
      if (!env) return tl::unexpected(env.error());
      ranks.push_back({span.first.value + i, std::move(*env)});
    }
  }
  return ranks;
}

Status Server::start_library(const Setup& setup) {
  Infos infos;
  infos.add(PMIX_SERVER_TMPDIR, setup.folder);
  infos.add(PMIX_SYSTEM_TMPDIR, setup.folder);
  infos.add(PMIX_SERVER_NSPACE, name_space_ + ".server");
  infos.add_rank(PMIX_SERVER_RANK, setup.node);
  // Without this, ranks would see no neighbours if the job's name for the node is not its hostname.
  infos.add(PMIX_HOSTNAME, setup.nodes[setup.node].name);
  pmix_server_module_t module = upcalls(*this);
  const pmix_status_t status = PMIx_server_init(&module, infos.data(), infos.size());
  if (status != PMIX_SUCCESS) return refused("PMIx_server_init", status);
  return {};
}

Status Server::register_job(const Setup& setup) {
  std::string names;
  std::string ranks;
  std::uint64_t size = 0;
  for (const Setup::Node& node : setup.nodes) {
    names += (names.empty() ? "" : ",") + node.name;
    ranks += (size == 0 ? "" : ";") + list_of(node.ranks);
    size += count_of(node.ranks);
  }
  char* node_map = nullptr;
  char* rank_map = nullptr;
  pmix_status_t status = PMIx_generate_regex(names.c_str(), &node_map);
  if (status == PMIX_SUCCESS) status = PMIx_generate_ppn(ranks.c_str(), &rank_map);
  if (status != PMIX_SUCCESS) return refused("PMIx_generate_regex", status);
  const std::vector<RankSpan>& here = setup.nodes[setup.node].ranks;
  const auto world = static_cast<std::uint32_t>(size);
  const auto local = static_cast<std::uint32_t>(count_of(here));
  Infos infos;
  infos.add_map(PMIX_NODE_MAP, node_map);
  infos.add_map(PMIX_PROC_MAP, rank_map);
  for (const char* key : {PMIX_JOB_SIZE, PMIX_UNIV_SIZE, PMIX_MAX_PROCS, PMIX_APP_SIZE})
    infos.add(key, world);
  for (const char* key : {PMIX_LOCAL_SIZE, PMIX_NODE_SIZE}) infos.add(key, local);
  infos.add(PMIX_NUM_NODES, static_cast<std::uint32_t>(setup.nodes.size()));
  infos.add(PMIX_JOB_NUM_APPS, 1U);
  infos.add(PMIX_JOBID, name_space_);
  infos.add(PMIX_LOCAL_PEERS, list_of(here));
  infos.add_rank(PMIX_LOCALLDR, here.empty() ? 0 : here.front().first.value);
  infos.add(PMIX_TMPDIR, setup.folder);
  infos.add(PMIX_NSDIR, setup.folder + "/job");
  infos.add_true(PMIX_TDIR_RMCLEAN);
  std::free(node_map);
  std::free(rank_map);
  Completion completion;
  status = completion.wait(PMIx_server_register_nspace(name_space_.c_str(), static_cast<int>(local),
                                                       infos.data(), infos.size(), Completion::done,
                                                       &completion));
  if (status != PMIX_SUCCESS) return refused("PMIx_server_register_nspace", status);
  return {};
}

Result<std::vector<std::string>> Server::register_rank(std::uint32_t rank) {
  const pmix_proc_t proc = proc_of(name_space_, rank);
  Completion completion;
  pmix_status_t status = completion.wait(PMIx_server_register_client(
      &proc, ::getuid(), ::getgid(), nullptr, Completion::done, &completion));
  if (status != PMIX_SUCCESS) return refused("PMIx_server_register_client", status);
  char** env = nullptr;
  status = PMIx_server_setup_fork(&proc, &env);
  if (status != PMIX_SUCCESS) return refused("PMIx_server_setup_fork", status);
  std::vector<std::string> variables;
  for (char** entry = env; entry != nullptr && *entry != nullptr; ++entry) {
    variables.emplace_back(*entry);
    std::free(*entry);
  }
  std::free(env);
  return variables;
}

void Server::end() {
  PMIx_server_finalize();
}

std::uint32_t Server::wait_for(Waiting waiting) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace(++next_id_, waiting);
  return next_id_;
}

pmix_status_t Server::fence(const pmix_proc_t* procs, std::size_t count, std::int32_t status,
                            std::string bytes, pmix_modex_cbfunc_t done, void* context) {
  std::vector<Rank> ranks;
  bool all = count == 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (name_space_ != procs[i].nspace) return PMIX_ERR_NOT_SUPPORTED;
    all = all || procs[i].rank == PMIX_RANK_WILDCARD;
    ranks.emplace_back(procs[i].rank);
  }
  Fence fence{0, status, all ? std::vector<RankSpan>() : spans_of(std::move(ranks)),
              std::move(bytes)};
  fence.id = wait_for({done, context});
  say(fence);
  return PMIX_SUCCESS;
}

pmix_status_t Server::direct_modex(const pmix_proc_t& proc, pmix_modex_cbfunc_t done,
                                   void* context) {
  if (name_space_ != proc.nspace || proc.rank >= PMIX_RANK_VALID) return PMIX_ERR_NOT_FOUND;
  say(DataWanted{wait_for({done, context}), proc.rank});
  return PMIX_SUCCESS;
}

pmix_status_t Server::abort(std::uint32_t rank, int code, const char* text, pmix_op_cbfunc_t done,
                            void* context) {
  Aborted aborted{0, rank, code, text == nullptr ? "" : text};
  {
    const std::lock_guard lock(mutex_);
    aborts_.emplace(++next_id_, WaitingAbort{done, context});
    aborted.id = next_id_;
  }
  say(aborted);
  return PMIX_SUCCESS;
}

void Server::answer(std::uint32_t id, std::int32_t status, std::string bytes) {
  Waiting waiting;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    waiting = found->second;
    waiting_.erase(found);
  }
  auto* kept = new std::string(std::move(bytes));  // until free_bytes
  waiting.done(status, kept->data(), kept->size(), waiting.context, free_bytes, kept);
}

void Server::answer(FenceDone done) {
  answer(done.id, done.status, std::move(done.bytes));
}

void Server::answer(Data data) {
  answer(data.id, data.status, std::move(data.bytes));
}

void Server::answer(const AbortSeen& seen) {
  WaitingAbort waiting;
  {
    const std::lock_guard lock(mutex_);
    const auto found = aborts_.find(seen.id);
    if (found == aborts_.end()) return;
    waiting = found->second;
    aborts_.erase(found);
  }
  if (waiting.done != nullptr) waiting.done(PMIX_SUCCESS, waiting.context);
}

namespace {

struct Asked {
  Server* server;
  std::uint32_t id;
};

void data_there(pmix_status_t status, char* bytes, std::size_t size, void* context) {
  auto* asked = static_cast<Asked*>(context);
  asked->server->say(Data{asked->id, status, std::string(bytes == nullptr ? "" : bytes, size)});
  delete asked;
}

}  // namespace

void Server::want(const DataWanted& wanted) {
  const pmix_proc_t proc = proc_of(name_space_, wanted.rank);
  auto* asked = new Asked{this, wanted.id};  // data_there deletes it
  const pmix_status_t status = PMIx_server_dmodex_request(&proc, data_there, asked);
  if (status == PMIX_SUCCESS) return;
  delete asked;
  say(Data{wanted.id, status, ""});
}

}  // namespace dlaunch::pmix
