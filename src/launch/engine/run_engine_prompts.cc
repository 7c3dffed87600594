// While nodes are being connected: what ssh wants to know from the user.
#include <algorithm>

#include "launch/engine/run_engine.h"
#include "launch/front/front_link.h"

namespace dlaunch {

namespace {

// What has been written before must be on the screen before a question is.
constexpr std::chrono::milliseconds kScreenCatchUp{500};

}  // namespace

/// Nobody is asked unless there is an ssh that could have a question.
void RunEngine::open_prompts() {
  const auto& nodes = sessions_.cluster().nodes;
  const bool all_forked =
      std::all_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.is_launcher; });
  if (!options_.may_ask || prompts_ || all_forked) return;
  prompts_ = PromptServer::open(loop_, {[this](const Prompt& prompt) { ask_user(prompt); },
                                        [this] {
                                          send_front_message(front_.get(), FrontMessage::withdraw);
                                          connecting_.hold(false);
                                        }});
  if (!prompts_) return;
  sessions_.set_prompts(
      [this](const std::string& process) { return prompts_->environment(process); });
}

void RunEngine::close_prompts() {
  if (prompts_) {
    if (prompts_->asking()) send_front_message(front_.get(), FrontMessage::withdraw);
    sessions_.set_prompts({});
    prompts_.reset();
  }
  connecting_.end();
}

void RunEngine::ask_user(const Prompt& prompt) {
  connecting_.hold(true);
  console_.drain(kScreenCatchUp);
  const std::string body = static_cast<char>(prompt.kind) + prompt.text;
  if (!send_front_message(front_.get(), FrontMessage::ask, body.data(), body.size())) return;
  sessions_.user_asked();
  push(event::UserAsked{});
}

void RunEngine::user_answered(std::optional<std::string> answer) {
  if (!prompts_ || !prompts_->asking()) return;
  sessions_.user_asked();
  push(event::UserAsked{});
  prompts_->answer(std::move(answer));
  if (!prompts_->asking()) connecting_.hold(false);
}

}  // namespace dlaunch
