#include "cli/reach_run.h"

#include <chrono>
#include <climits>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include "cli/print.h"
#include "launch/front/bounded_work.h"
#include "os/packet.h"
#include "runs/run_index.h"

namespace dlaunch {

namespace {

/// The file system of the run folder may not answer.
constexpr std::chrono::seconds kFileLimit{10};
constexpr std::size_t kMostAnswer = PATH_MAX + 256;

/// Runs in a separate process: sends the id, a zero byte, the path and the connection to `answer`.
int find_and_connect(const std::string& word, const std::string& command, const std::string& after,
                     const char* name, int type, int answer) {
  const auto folders = run_folders("");
  if (!folders) return print_error(folders.error());
  const auto run =
      word.empty() ? only_live_run(*folders, command, after) : find_run(*folders, word);
  if (!run) return print_error(run.error());
  const auto socket = connect_to_run(*run, name, type);
  if (!socket) return print_error(socket.error());
  if (send_packet(answer, run->id + '\0' + run->path, {socket->get()})) return exit_code::kOk;
  return print_error(
      {exit_code::kInternal, command + ": cannot pass on the connection to the run"});
}

}  // namespace

tl::expected<RunConnection, int> reach_run(const std::string& word, const std::string& command,
                                           const char* name, int type, const std::string& after) {
  const auto ends = make_socket_pair(SOCK_SEQPACKET);
  if (!ends) return tl::unexpected(print_error(ends.error()));
  const WatchedWork done = watch_work(kFileLimit, [&] {
    return find_and_connect(word, command, after, name, type, ends->second.get());
  });
  if (!done.stuck.empty()) {
    return tl::unexpected(print_error(
        {exit_code::kTimeLimit, command + " cannot read the run folder: " + done.stuck}));
  }
  if (done.code != exit_code::kOk) return tl::unexpected(done.code);
  std::vector<UniqueFd> sockets;
  const auto answer = receive_packet(ends->first.get(), kMostAnswer, 1, sockets, false);
  const std::size_t end = answer ? answer->find('\0') : std::string::npos;
  if (end == std::string::npos || sockets.size() != 1) {
    return tl::unexpected(
        print_error({exit_code::kInternal, command + ": no connection to the run"}));
  }
  return RunConnection{answer->substr(0, end), answer->substr(end + 1), std::move(sockets.front())};
}

}  // namespace dlaunch
