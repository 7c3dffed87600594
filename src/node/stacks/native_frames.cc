#include "node/stacks/native_frames.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include <cxxabi.h>

namespace dlaunch {

namespace {

constexpr std::string_view kOperator = "operator";
constexpr std::string_view kAnonymous = "(anonymous namespace)";

/// Removes "(...)" groups outside template arguments, except "(anonymous namespace)" and
/// "operator()".
std::string without_parameters(std::string_view name) {
  std::string short_name;
  int angles = 0;
  for (std::size_t i = 0; i < name.size();) {
    const std::string_view rest = name.substr(i);
    if (rest.starts_with(kAnonymous)) {
      short_name += kAnonymous;
      i += kAnonymous.size();
      continue;
    }
    if (rest.starts_with(kOperator)) {  // operator() and operator<, operator->
      std::size_t end = kOperator.size();
      if (rest.substr(end).starts_with("()")) {
        end += 2;
      } else {
        while (end < rest.size() &&
               std::string_view("<>=-!+*/%&|^~,[]").find(rest[end]) != std::string_view::npos)
          ++end;
      }
      short_name += rest.substr(0, end);
      i += end;
      continue;
    }
    const char one = name[i];
    if (one == '(' && angles == 0) {
      int depth = 0;
      do {
        depth += name[i] == '(' ? 1 : name[i] == ')' ? -1 : 0;
        ++i;
      } while (i < name.size() && depth > 0);
      continue;
    }
    angles += one == '<' ? 1 : one == '>' && angles > 0 ? -1 : 0;
    short_name += one;
    ++i;
  }
  return short_name;
}

/// Removes the result type, which names of templates have, and a member function's qualifiers.
std::string without_result(std::string name) {
  for (const std::string_view suffix : {" &", " &&", " volatile", " const"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  int angles = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::string_view rest = std::string_view(name).substr(i);
    if (rest.starts_with(kOperator)) break;
    if (rest.starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
      continue;
    }
    angles += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    if (name[i] == ' ' && angles == 0) begin = i + 1;
  }
  return name.substr(begin);
}

bool is_of_the_start(const StackFrame& frame) {
  constexpr std::array<std::string_view, 5> kStart = {"_start", "__libc_start_main",
                                                      "__libc_start_main_impl",
                                                      "__libc_start_call_main", "start_thread"};
  return std::find(kStart.begin(), kStart.end(), frame.function) != kStart.end();
}

bool is_of_the_interpreter(const StackFrame& frame) {
  return frame.function.starts_with("_PyEval_") || frame.function.starts_with("PyEval_Eval");
}

bool is_unnamed(const StackFrame& frame) {
  return frame.function.empty();
}

/// A C library without its debug file names only the functions that it exports.
bool may_be_of_the_start(const StackFrame& frame) {
  const std::string_view file = std::string_view(frame.file).substr(frame.file.rfind('/') + 1);
  return is_unnamed(frame) && (file.starts_with("libc.so") || file.starts_with("libc-"));
}

}  // namespace

std::string function_name(std::string symbol) {
  symbol.resize(std::min(symbol.find('@'), symbol.size()));  // "__libc_start_main@@GLIBC_2.34"
  if (symbol.starts_with("_Z")) {
    symbol.resize(std::min(symbol.find('.'), symbol.size()));  // ".cold", ".isra.0"
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    if (name) return without_result(without_parameters(name.get()));
  }
  if (const std::size_t at = symbol.find("_MOD_");
      symbol.starts_with("__") && at != std::string::npos)
    return symbol.substr(2, at - 2) + "::" + symbol.substr(at + 5);
  return symbol;
}

void add_native_frames(std::vector<StackFrame> frames, ThreadStack& thread) {
  frames.erase(std::find_if(frames.begin(), frames.end(), is_of_the_start), frames.end());
  while (frames.size() > 1 && may_be_of_the_start(frames.back())) frames.pop_back();
  const auto python =
      std::find_if(thread.frames.begin(), thread.frames.end(),
                   [](const StackFrame& frame) { return frame.kind == StackFrame::Kind::python; });
  if (python != thread.frames.end())
    frames.erase(std::find_if(frames.begin(), frames.end(), is_of_the_interpreter), frames.end());
  frames.erase(std::unique(frames.begin(), frames.end(),
                           [](const StackFrame& a, const StackFrame& b) {
                             return is_unnamed(a) && is_unnamed(b) && a.file == b.file;
                           }),
               frames.end());
  thread.frames.insert(python, std::make_move_iterator(frames.begin()),
                       std::make_move_iterator(frames.end()));
}

}  // namespace dlaunch
