#include "launch/questions/question_side.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "launch/questions/question_socket.h"
#include "model/rank_list.h"
#include "os/build_id.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostAskers = 32;
/// A peer that neither asks nor reads is let go.
constexpr std::chrono::seconds kPatience{30};

}  // namespace

/// A connection; `question` once it is whole, `out` once it is answered.
struct QuestionSide::Asker {
  Asker(EventLoop& loop, UniqueFd fd) : socket(loop, std::move(fd)), patience(loop) {}
  WatchedFd socket;
  Timer patience;
  std::string in;
  std::optional<StacksQuestion> question;
  std::string out;
  std::size_t written = 0;
};

QuestionSide::QuestionSide(EventLoop& loop, StackRounds& rounds) : loop_(loop), rounds_(rounds) {}

QuestionSide::~QuestionSide() {
  close();
}

Status QuestionSide::open(const std::string& run_folder) {
  auto listener = open_question_socket(run_folder);
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
  if (n < 0 || asker.in.size() > kMostQuestion) return drop(asker);
  if (n > 0) {
    asker.in.append(bytes, static_cast<std::size_t>(n));
    return watch(asker);
  }
  asker.question = wire::decode_value<StacksQuestion>(asker.in);
  // That of another version cannot be read, nor would its answer be: it gets none that it can read.
  if (!asker.question) asker.question.emplace();
  next();
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
  const auto first = std::find_if(askers_.begin(), askers_.end(), [](const auto& one) {
    return one->question.has_value() && one->out.empty();
  });
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
  if (question.build_id != own_build_id()) {
    return refuse(
        {exit_code::kUsage, "the run was started by another version of dlaunch; ask with that"});
  }
  const auto ranks = ranks_of(question, plan_);
  if (!ranks) return refuse(ranks.error());
  round_ = rounds_.ask({*ranks, question.path, question.native},
                       [this](const StacksReply& answer) { reply(answer); });
}

void QuestionSide::refuse(const Error& why) {
  StacksReply answer;
  answer.problem = why.message;
  answer.exit_code = why.exit_code;
  reply(answer);
}

void QuestionSide::reply(const StacksReply& answer) {
  Asker& asker = *std::exchange(current_, nullptr);
  asker.out = wire::encode_value(answer);
  asker.patience.after(kPatience, [this, &asker] { drop(asker); });
  write(asker);
  next();
}

void QuestionSide::write(Asker& asker) {
  const ssize_t n = ::send(asker.socket.get(), asker.out.data() + asker.written,
                           asker.out.size() - asker.written, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && errno != EAGAIN && errno != EINTR) return drop(asker);
  asker.written += n > 0 ? static_cast<std::size_t>(n) : 0U;
  if (asker.written == asker.out.size()) return drop(asker);
  asker.socket.on_writable([this, &asker] { write(asker); });
}

}  // namespace dlaunch
