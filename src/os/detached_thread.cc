#include "os/detached_thread.h"

#include <csignal>
#include <cstddef>
#include <memory>
#include <utility>

#include <pthread.h>

namespace dlaunch {

namespace {

// The work has a shallow call stack; sanitizers need several times as much.
constexpr std::size_t kStack = std::size_t{256} << 10;

void* run_work(void* argument) {
  const std::unique_ptr<std::function<void()>> work(static_cast<std::function<void()>*>(argument));
  (*work)();
  return nullptr;
}

}  // namespace

int start_detached_thread(std::function<void()> work) {
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  pthread_attr_t attributes;
  if (const int error = ::pthread_attr_init(&attributes); error != 0) return error;
  ::pthread_attr_setstacksize(&attributes, kStack);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int error = ::pthread_create(&thread, &attributes, run_work, owned.get());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (error == 0) (void)owned.release();
  return error;
}

}  // namespace dlaunch
