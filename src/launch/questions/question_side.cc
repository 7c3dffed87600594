#include "launch/questions/question_side.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "launch/questions/question_socket.h"
#include "launch/questions/run_socket.h"
#include "model/rank_list.h"
#include "os/build_id.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostAskers = 32;
/// A peer that neither asks nor reads is dropped after this time.
constexpr std::chrono::seconds kPatience{30};
/// A peer that has had an answer may be `dlaunch status --watch`, stopped by Ctrl-Z.
constexpr std::chrono::hours kRest{1};

constexpr const char* kOtherVersion =
    "the run was started by another version of dlaunch; use that one";

}  // namespace

/// A connection. While `question` waits for its turn or `out` is being written, nothing is read.
struct QuestionSide::Asker {
  Asker(EventLoop& loop, UniqueFd fd) : socket(loop, std::move(fd)), patience(loop) {}
  WatchedFd socket;
  Timer patience;
  std::string in;
  std::optional<StacksQuestion> question;
  std::string out;
  std::size_t written = 0;
};

QuestionSide::QuestionSide(EventLoop& loop, StackRounds& rounds, Answers answers)
    : loop_(loop), rounds_(rounds), answers_(std::move(answers)) {}

QuestionSide::~QuestionSide() {
  close();
}

Status QuestionSide::open(const std::string& run_folder) {
  auto listener = open_run_socket(run_folder, kQuestionSocket, SOCK_STREAM);
  if (!listener) return tl::unexpected(listener.error());
  socket_path_ = run_folder + '/' + kQuestionSocket;
  acceptor_ = std::make_unique<Acceptor>(loop_, std::move(*listener),
                                         [this](UniqueFd fd) { let_in(std::move(fd)); });
  return {};
}

void QuestionSide::close() {
  if (socket_path_.empty()) return;
  ::unlink(std::exchange(socket_path_, "").c_str());
  acceptor_.reset();
  askers_.clear();
  current_ = nullptr;
  rounds_.cancel(round_);
}

void QuestionSide::let_in(UniqueFd socket) {
  if (!peer_is_our_user(socket.get()) || askers_.size() >= kMostAskers) return;
  Asker& asker = *askers_.emplace_back(std::make_unique<Asker>(loop_, std::move(socket)));
  asker.patience.after(kPatience, [this, &asker] { drop(asker); });
  watch(asker);
}

void QuestionSide::watch(Asker& asker) {
  asker.socket.on_readable([this, &asker] { read(asker); });
}

void QuestionSide::read(Asker& asker) {
  char bytes[4096];
  const ssize_t n = ::recv(asker.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return watch(asker);
  if (n <= 0) return drop(asker);
  asker.in.append(bytes, static_cast<std::size_t>(n));
  take_question(asker);
}

void QuestionSide::take_question(Asker& asker) {
  bool is_too_long = false;
  const auto value = take_framed(asker.in, kMostQuestion, is_too_long);
  if (is_too_long) return drop(asker);
  if (!value) return watch(asker);
  auto question = wire::decode_variant<Question>(*value);
  const auto is_ours = [](const auto& one) { return one.build_id == own_build_id(); };
  if (!question || !std::visit(is_ours, *question))
    return answer(asker, Refusal{kOtherVersion, exit_code::kUsage});
  std::visit([&](auto& one) { take(asker, one); }, *question);
}

void QuestionSide::take(Asker& asker, StacksQuestion& question) {
  asker.question = std::move(question);
  next();
}

void QuestionSide::take(Asker& asker, StatusQuestion&) {
  answer(asker, answers_.status());
}

/// An asker that does not wait for the answer sends a signal instead; the question and the signal
/// together would kill at once.
void QuestionSide::take(Asker& asker, StopQuestion& question) {
  char byte = 0;
  if (::recv(asker.socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) return drop(asker);
  const auto reply = answers_.stop(question);
  if (reply) return answer(asker, *reply);
  answer(asker, Refusal{reply.error().message, reply.error().exit_code});
}

void QuestionSide::drop(Asker& asker) {
  const bool was_current = current_ == &asker;
  std::erase_if(askers_, [&](const auto& one) { return one.get() == &asker; });
  if (!was_current) return;
  current_ = nullptr;
  rounds_.cancel(round_);
  next();
}

void QuestionSide::next() {
  if (current_ != nullptr) return;
  const auto first = std::find_if(askers_.begin(), askers_.end(),
                                  [](const auto& one) { return one->question.has_value(); });
  if (first == askers_.end()) return;
  current_ = first->get();
  begin(*current_->question);
}

Result<std::vector<Rank>> QuestionSide::ranks_of(const StacksQuestion& question,
                                                 const LaunchPlan* plan) {
  if (plan == nullptr) return fail(exit_code::kUsage, "no rank of the run is running now");
  const auto world = static_cast<std::uint32_t>(plan->ranks.size());
  std::vector<Rank> ranks;
  if (question.ranks.empty()) {
    for (std::uint32_t rank = 0; rank < world; ++rank) ranks.emplace_back(rank);
    return ranks;
  }
  const auto chosen = parse_ranks(question.ranks, world);
  if (!chosen) return tl::unexpected(chosen.error());
  for (const std::uint32_t rank : *chosen) ranks.emplace_back(rank);
  return ranks;
}

void QuestionSide::begin(const StacksQuestion& question) {
  const auto ranks = ranks_of(question, plan_);
  if (!ranks) return reply_with(Refusal{ranks.error().message, ranks.error().exit_code});
  round_ = rounds_.ask({*ranks, question.path, question.native},
                       [this](StacksReply stacks) { reply_with(std::move(stacks)); });
}

void QuestionSide::reply_with(const Reply& reply) {
  Asker& asker = *std::exchange(current_, nullptr);
  asker.question.reset();
  answer(asker, reply);
  next();
}

void QuestionSide::answer(Asker& asker, const Reply& reply) {
  asker.out = framed(wire::encode_value(reply));
  asker.written = 0;
  asker.patience.after(kPatience, [this, &asker] { drop(asker); });
  write(asker);
}

void QuestionSide::write(Asker& asker) {
  const ssize_t n = ::send(asker.socket.get(), asker.out.data() + asker.written,
                           asker.out.size() - asker.written, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && errno != EAGAIN && errno != EINTR) return drop(asker);
  asker.written += n > 0 ? static_cast<std::size_t>(n) : 0U;
  if (asker.written == asker.out.size()) {
    asker.out.clear();
    asker.patience.after(kRest, [this, &asker] { drop(asker); });
    // In a later turn, so that questions asked meanwhile do not nest.
    return asker.socket.on_writable([this, &asker] { take_question(asker); });
  }
  asker.socket.on_writable([this, &asker] { write(asker); });
}

}  // namespace dlaunch
