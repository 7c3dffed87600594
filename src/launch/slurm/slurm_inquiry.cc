#include "launch/slurm/slurm_inquiry.h"

#include <charconv>
#include <utility>

#include "os/clock.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kLimit{5};

ProgramCall scontrol(std::vector<std::string> what, Environment environment) {
  what.insert(what.begin(), {"scontrol", "show"});
  environment["SLURM_TIME_FORMAT"] = kSlurmTimeFormat;
  return {.argv = std::move(what), .limit = kLimit, .environment = std::move(environment)};
}

SlurmTime time_now() {
  return std::chrono::floor<std::chrono::seconds>(wall_now()).time_since_epoch();
}

std::string text_of(const Result<ProgramOutput>& output) {
  return output && output->succeeded() ? output->out : "";
}

}  // namespace

std::optional<SlurmTime> ask_slurm_end(const Environment& environment) {
  const auto job = find_variable(environment, "SLURM_JOB_ID");
  if (!job || job->empty()) return std::nullopt;
  const auto output = run_program(scontrol({"job", *job}, environment));
  return read_slurm_state(text_of(output), *job).end;
}

SlurmInquiry::SlurmInquiry(EventLoop& loop, const Environment& environment)
    : loop_(loop), environment_(environment) {
  signal_.job = find_variable(environment, "SLURM_JOB_ID").value_or("");
  const std::string count = find_variable(environment, "SLURM_RESTART_COUNT").value_or("");
  (void)std::from_chars(count.data(), count.data() + count.size(), signal_.restarts);
}

void SlurmInquiry::ask(About about, Answer answer) {
  const bool replaces = about == About::ending && about_ == About::warning;
  if (signal_.job.empty() || (answer_ && !replaces)) return;
  about_ = about;
  answer_ = std::move(answer);
  signal_.came = time_now();
  state_.reset();
  knows_config_ = false;
  of_job_ = std::make_unique<RunningProgram>(loop_, scontrol({"job", signal_.job}, environment_),
                                             [this](const Result<ProgramOutput>& output) {
                                               state_ =
                                                   read_slurm_state(text_of(output), signal_.job);
                                               heard();
                                             });
  of_config_ = std::make_unique<RunningProgram>(
      loop_, scontrol({"config"}, environment_), [this](const Result<ProgramOutput>& output) {
        signal_.kill_wait = read_kill_wait(text_of(output));
        knows_config_ = true;
        heard();
      });
}

void SlurmInquiry::heard() {
  if (!state_ || !knows_config_) return;
  if (const Answer answer = std::exchange(answer_, nullptr)) answer(slurm_notice(signal_, *state_));
}

}  // namespace dlaunch
