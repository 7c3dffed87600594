#include "node/stacks/py_spy_output.h"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

namespace dlaunch {

namespace {

using nlohmann::json;

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return "";
  return found->get<std::string>().substr(0, kMostStackText);
}

std::int64_t number_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::vector<StackFrame> frames_of(const json& thread) {
  std::vector<StackFrame> frames;
  const auto list = thread.find("frames");
  if (list == thread.end() || !list->is_array()) return frames;
  for (const json& one : *list) {
    if (!one.is_object() || frames.size() == kMostStackFrames) break;
    StackFrame& frame = frames.emplace_back();
    frame.kind = StackFrame::Kind::python;
    frame.function = text_in(one, "name");
    frame.file = text_in(one, "filename");
    frame.line =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(number_in(one, "line"), 0, 1 << 30));
  }
  return frames;
}

ThreadStack& thread_for(const json& said, ProcessStack& process, const ThreadNumbers& numbers) {
  const std::string name = text_in(said, "thread_name");
  std::int64_t id = number_in(said, "os_thread_id");
  if (const auto found = numbers.find(id); found != numbers.end()) id = found->second;
  if (id == 0 && name == "MainThread") id = process.pid;
  for (ThreadStack& thread : process.threads) {
    if (id == 0 || thread.id != id) continue;
    if (thread.id != process.pid && !name.empty()) thread.name = name;  // the kernel truncates it
    return thread;
  }
  ThreadStack& added = process.threads.emplace_back();
  added.name = name.empty() ? "Python" : name;
  return added;
}

}  // namespace

bool add_py_spy_output(std::string_view text, ProcessStack& process, const ThreadNumbers& numbers) {
  json said = json::parse(text, nullptr, false);
  // py-spy may log to the same pipe before it writes the JSON.
  for (std::size_t at = text.find("\n["); said.is_discarded() && at != std::string_view::npos;
       at = text.find("\n[", at + 1))
    said = json::parse(text.substr(at + 1), nullptr, false);
  if (!said.is_array()) return false;
  for (const json& one : said) {
    if (!one.is_object()) return false;
    std::vector<StackFrame> frames = frames_of(one);
    if (frames.empty()) continue;
    ThreadStack& thread = thread_for(one, process, numbers);
    // The innermost frame is the kernel's, which says where the thread waits.
    thread.frames.insert(thread.frames.end(), std::make_move_iterator(frames.begin()),
                         std::make_move_iterator(frames.end()));
  }
  return true;
}

}  // namespace dlaunch
