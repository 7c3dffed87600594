// dlaunch-pmix: serves the MPI ranks of one node with PMIx, so that they start without mpirun. Its
// agent starts it for each attempt of an MPI job, with a socket as stdin
// (node/pmix/helper_protocol.h), and it ends with the agent.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <pmix.h>
#include <unistd.h>

#include "node/pmix/server.h"

namespace dlaunch::pmix {

namespace {

constexpr int kAgent = STDIN_FILENO;

/// Handles the agent's messages, on the main thread.
class Conversation {
 public:
  int run() {
    char bytes[65536];
    while (!finished_) {
      const ssize_t n = ::read(kAgent, bytes, sizeof bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return exit_code::kInternal;
      reader_.feed(std::string_view(bytes, static_cast<std::size_t>(n)));
      if (const Status s = take(); !s) {
        std::fprintf(stderr, "dlaunch-pmix: %s\n", s.error().message.c_str());
        return s.error().exit_code;
      }
    }
    return exit_code::kOk;
  }

 private:
  Status take() {
    while (!finished_) {
      auto message = reader_.next();
      if (!message) return tl::unexpected(message.error());
      if (!*message) return {};
      std::visit([this](auto& one) { on(one); }, **message);
    }
    return {};
  }

  void on(const Setup& setup) {
    if (setup.protocol != kProtocol || setup.node >= setup.nodes.size())
      return server_.say(Ready{"dlaunch-pmix and its agent are from different builds", {}});
    auto ranks = server_.begin(setup);
    if (!ranks) return server_.say(Ready{ranks.error().message, {}});
    server_.say(Ready{"", std::move(*ranks)});
  }
  void on(FenceDone& done) { server_.answer(std::move(done)); }
  void on(Data& data) { server_.answer(std::move(data)); }
  void on(AbortSeen& seen) { server_.answer(seen); }
  void on(DataWanted& wanted) { server_.want(wanted); }
  void on(Finish&) {
    server_.end();
    finished_ = true;
  }
  // Messages that only a helper sends.
  void on(Ready&) {}
  void on(Connected&) {}
  void on(Finalized&) {}
  void on(Fence&) {}
  void on(Aborted&) {}
  void on(Refused&) {}

  Server server_{kAgent};
  HelperReader reader_;
  bool finished_ = false;
};

}  // namespace

}  // namespace dlaunch::pmix

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--probe") == 0) {
    std::printf("%s %s\n", dlaunch::pmix::kProbeAnswer, PMIx_Get_version());
    return 0;
  }
  if (argc != 1) {
    std::fprintf(stderr, "dlaunch-pmix is started by dlaunch itself\n");
    return dlaunch::exit_code::kUsage;
  }
  dlaunch::pmix::Conversation conversation;
  return conversation.run();
}
