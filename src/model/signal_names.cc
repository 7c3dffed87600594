#include "model/signal_names.h"

#include <array>
#include <csignal>
#include <utility>

#include "text/strings.h"

namespace dlaunch {

namespace {

// The signals that a job launcher meets (signal(7); the macros give the numbers of x86 and arm).
constexpr std::array<std::pair<int, std::string_view>, 28> kNames{{
    {SIGHUP, "HUP"},       {SIGINT, "INT"},   {SIGQUIT, "QUIT"},   {SIGILL, "ILL"},
    {SIGTRAP, "TRAP"},     {SIGABRT, "ABRT"}, {SIGBUS, "BUS"},     {SIGFPE, "FPE"},
    {SIGKILL, "KILL"},     {SIGUSR1, "USR1"}, {SIGSEGV, "SEGV"},   {SIGUSR2, "USR2"},
    {SIGPIPE, "PIPE"},     {SIGALRM, "ALRM"}, {SIGTERM, "TERM"},   {SIGCHLD, "CHLD"},
    {SIGCONT, "CONT"},     {SIGSTOP, "STOP"}, {SIGTSTP, "TSTP"},   {SIGTTIN, "TTIN"},
    {SIGTTOU, "TTOU"},     {SIGURG, "URG"},   {SIGXCPU, "XCPU"},   {SIGXFSZ, "XFSZ"},
    {SIGVTALRM, "VTALRM"}, {SIGPROF, "PROF"}, {SIGWINCH, "WINCH"}, {SIGSYS, "SYS"},
}};

}  // namespace

std::string signal_name(int number) {
  for (const auto& [value, name] : kNames) {
    if (value == number) return "SIG" + std::string(name);
  }
  return "signal " + std::to_string(number);
}

std::optional<int> signal_number(std::string_view name) {
  std::string wanted = upper(name);
  if (wanted.starts_with("SIG")) wanted.erase(0, 3);
  for (const auto& [value, known] : kNames) {
    if (known == wanted) return value;
  }
  return std::nullopt;
}

}  // namespace dlaunch
