#include "cli/status_screen.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "cli/print.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "report/live_screen.h"
#include "report/stacks_text.h"
#include "report/status_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kEvery{1};
constexpr std::chrono::seconds kSlow{3};  // the screen says if an answer takes longer

const std::vector<int> kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

constexpr const char* kTableFoot = "q leave  s stacks  arrows, Page Up, Page Down scroll";
constexpr const char* kStacksFoot = "stacks of this moment; any key: back";

/// The terminal in a mode in which each key arrives at once and is not echoed. Ctrl-C and Ctrl-Z
/// stay signals.
class KeyTerminal {
 public:
  KeyTerminal() : tty_(::open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) { enter(); }
  ~KeyTerminal() { leave(); }
  KeyTerminal(const KeyTerminal&) = delete;
  KeyTerminal& operator=(const KeyTerminal&) = delete;

  void enter() {
    if (!tty_ || ::tcgetattr(tty_.get(), &before_) != 0) return;
    termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    if (::tcsetattr(tty_.get(), TCSANOW, &now) == 0) is_entered_ = true;
    put(kBeginScreen);
  }
  void leave() {
    if (!std::exchange(is_entered_, false)) return;
    out_.clear();
    put(end_of_screen(size()));
    ::tcsetattr(tty_.get(), TCSANOW, &before_);
  }

  [[nodiscard]] int fd() const { return tty_.get(); }
  [[nodiscard]] ScreenSize size() const {
    const auto found = terminal_size(tty_.get());
    ScreenSize size;
    if (found && found->columns > 0) size.columns = found->columns;
    if (found && found->rows > 0) size.rows = found->rows;
    return size;
  }
  /// Writes as much as the terminal takes now, because Ctrl-S may have stopped it; write_rest()
  /// writes the rest.
  void put(const std::string& bytes) {
    out_ += bytes;
    write_rest();
  }
  void write_rest() {
    const ssize_t n = out_.empty() ? 0 : ::write(tty_.get(), out_.data(), out_.size());
    if (n > 0) out_.erase(0, static_cast<std::size_t>(n));
  }
  [[nodiscard]] bool is_behind() const { return !out_.empty(); }
  /// False: the terminal is gone.
  [[nodiscard]] bool read(std::string& typed) const {
    char bytes[256];
    const ssize_t n = ::read(tty_.get(), bytes, sizeof bytes);
    if (n > 0) typed.append(bytes, static_cast<std::size_t>(n));
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
  }

 private:
  UniqueFd tty_;
  termios before_{};
  bool is_entered_ = false;
  std::string out_;
};

class StatusScreen {
 public:
  explicit StatusScreen(QuestionLine line) : line_(std::move(line)) {}

  StatusScreenEnd run() {
    const auto signals = open_signal_fd(kSignals);
    if (!signals || terminal_.fd() < 0)
      return {false, print_error({exit_code::kInternal, "cannot use the terminal"})};
    while (!end_) {
      ask_if_due();
      const short tty_wants = terminal_.is_behind() ? POLLIN | POLLOUT : POLLIN;
      pollfd ready[] = {
          {signals->get(), POLLIN, 0}, {terminal_.fd(), tty_wants, 0}, {line_.fd(), POLLIN, 0}};
      (void)::poll(ready, std::size(ready), wait_ms());
      while (const int number = read_signal(signals->get())) take_signal(number);
      if (ready[1].revents != 0) take_input();
      if (ready[2].revents != 0) take_reply();
      if (monotonic_now() - asked_at_ > kSlow && is_asking_) draw();
    }
    return *end_;
  }

 private:
  /// Asks one question at a time. Asks for the state of the run every second even while stacks are
  /// on the screen, because the engine drops silent peers and the end of the run ends the screen.
  void ask_if_due() {
    const MonotonicTime now = monotonic_now();
    const bool is_due = wants_stacks_ || now - asked_at_ >= kEvery;
    if (is_asking_ || !is_due) return;
    is_asking_ = true;
    asked_at_ = now;
    asks_stacks_ = wants_stacks_;
    if (asks_stacks_) {
      const char* const path = std::getenv("PATH");
      line_.ask(StacksQuestion{own_build_id(), "", path != nullptr ? path : ""});
    } else {
      line_.ask(StatusQuestion{own_build_id()});
    }
  }

  [[nodiscard]] int wait_ms() const {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(asked_at_ + kEvery - monotonic_now());
    if (is_asking_) return static_cast<int>(std::chrono::milliseconds(kEvery).count());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }

  void take_signal(int number) {
    if (number == SIGWINCH) return draw();
    if (number != SIGTSTP) {
      end_ = {false, exit_code::kSignalBase + number};
      return;
    }
    terminal_.leave();
    ::raise(SIGSTOP);
    terminal_.enter();
    draw();
  }

  void take_input() {
    terminal_.write_rest();
    if (!terminal_.read(typed_)) end_ = {false, exit_code::kSignalBase + SIGHUP};
    while (const auto key = take_key(typed_)) press(*key);
  }

  void press(Key key) {
    const bool scrolls = key != Key::quit && key != Key::stacks && key != Key::other;
    if (!scrolls && shows_stacks_) {
      shows_stacks_ = false;
      page_ = {};
      first_ = 0;
    } else if (key == Key::quit) {
      end_ = {false, exit_code::kOk};
    } else if (key == Key::stacks) {
      wants_stacks_ = true;
    }
    first_ = moved(first_, key, page_, terminal_.size());
    draw();
  }

  void take_reply() {
    auto reply = line_.receive();
    if (!reply) return;
    is_asking_ = false;
    if (std::exchange(asks_stacks_, false)) wants_stacks_ = false;
    if (!*reply) return take_refusal(reply->error());
    if (const auto* status = std::get_if<StatusReply>(&**reply)) {
      status_ = *status;
    } else if (const auto* stacks = std::get_if<StacksReply>(&**reply)) {
      show_stacks(stacks_text(*stacks, terminal_.size().columns));
    }
    draw();
  }

  /// If the connection has ended, so has the run; otherwise there may just be no rank to ask for
  /// stacks.
  void take_refusal(const Error& why) {
    if (line_.has_ended()) {
      end_ = {true, why.exit_code};
      return;
    }
    show_stacks(why.message);
    draw();
  }

  void show_stacks(std::string_view text) {
    page_ = {};
    shows_stacks_ = true;
    first_ = 0;
    while (!text.empty()) page_.rows.emplace_back(take_line(text));
  }

  void draw() {
    if (terminal_.is_behind()) return;
    const ScreenSize size = terminal_.size();
    if (!shows_stacks_ && !status_.run.empty()) page_ = status_page(status_, size.columns);
    first_ = moved(first_, Key::other, page_, size);
    std::string foot = shows_stacks_ ? kStacksFoot : kTableFoot;
    if (is_asking_ && monotonic_now() - asked_at_ > kSlow)
      foot = "the launcher has not answered for some seconds; q leaves";
    if (wants_stacks_) foot = "asking where the ranks stand ...";
    terminal_.put(drawn(page_, first_, foot, size));
  }

  QuestionLine line_;
  KeyTerminal terminal_;
  std::optional<StatusScreenEnd> end_;
  std::string typed_;
  StatusReply status_;
  ScreenPage page_;
  std::size_t first_ = 0;
  bool shows_stacks_ = false;
  bool wants_stacks_ = false;
  bool asks_stacks_ = false;  // the awaited answer is about stacks
  bool is_asking_ = false;
  MonotonicTime asked_at_{0};
};

}  // namespace

StatusScreenEnd show_status_screen(QuestionLine line) {
  block_signals(kSignals);  // before the terminal changes its mode
  return StatusScreen(std::move(line)).run();
}

}  // namespace dlaunch
