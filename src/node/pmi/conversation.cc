#include "node/pmi/conversation.h"

#include <utility>

#include "node/pmi/pmi_line.h"
#include "node/pmi/world_size.h"
#include "text/number.h"

namespace dlaunch::pmi {

namespace {

using Kind = Conversation::Kind;
using Said = Conversation::Said;

constexpr std::size_t kMostQuoted = 60;
// Limit for all lines of a spawn together; they contain the arguments of its programs.
constexpr std::size_t kMostSpawn = std::size_t{1} << 20;

Said say(Kind kind, std::string text) {
  return {kind, std::move(text), 0, {}};
}

Said answer(std::string text) {
  return say(Kind::answered, std::move(text));
}

Said put(std::string_view line, KeySpace& space) {
  const char* refused = space.put(value_of(line, "key"), value_of(line, "value"));
  if (refused != nullptr) return answer("cmd=put_result rc=-1 msg=" + std::string(refused) + "\n");
  return answer("cmd=put_result rc=0 msg=success\n");
}

Said get(std::string_view line, const KeySpace& space) {
  const auto value = space.get(value_of(line, "key"));
  if (!value) return answer("cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
  return answer("cmd=get_result rc=0 msg=success value=" + *value + "\n");
}

Said maxes() {
  return answer("cmd=maxes rc=0 kvsname_max=" + std::to_string(kMostName) + " keylen_max=" +
                std::to_string(kMostKey) + " vallen_max=" + std::to_string(kMostValue) + "\n");
}

Said refuse(std::string_view result, const char* called) {
  return {Kind::refused, "cmd=" + std::string(result) + " rc=-1 msg=not_supported_by_dlaunch\n", 0,
          called};
}

/// Printable, and short enough for a message.
std::string quoted(std::string_view line) {
  std::string text = "\"";
  for (const char c : line.substr(0, kMostQuoted)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (line.size() > kMostQuoted ? "...\"" : "\"");
}

}  // namespace

std::optional<Said> Conversation::next(KeySpace& space) {
  while (!over_) {
    const std::size_t end = heard_.find('\n');
    if (end == std::string::npos) {
      if (heard_.size() <= kMostLine) return std::nullopt;
      return nonsense("an unterminated line");
    }
    const std::string line = heard_.substr(0, end);
    heard_.erase(0, end + 1);
    if (auto said = hear(line, space)) return said;
  }
  return std::nullopt;
}

std::optional<Said> Conversation::hear(std::string_view line, KeySpace& space) {
  if (line.size() > kMostLine)
    return nonsense("a line of " + std::to_string(line.size()) + " bytes");
  if (line.find('\0') != std::string_view::npos) return nonsense(quoted(line));
  if (!spawning_.empty() || line.starts_with("mcmd=")) return hear_of_spawn(line);
  if (line.empty()) return std::nullopt;  // some clients end a command twice
  return command(line, space);
}

/// "mcmd=spawn", lines of one word each, "endcmd"; repeated "totspawns" times.
std::optional<Said> Conversation::hear_of_spawn(std::string_view line) {
  if (line.starts_with("mcmd=") && line != "mcmd=spawn") return nonsense(quoted(line));
  if (line.starts_with("mcmd=") || line.starts_with("totspawns=") ||
      line.starts_with("spawnssofar="))
    spawning_.append(line).append(" ");
  spawn_size_ += line.size() + 1;
  if (spawning_.size() > kMostLine || spawn_size_ > kMostSpawn)
    return nonsense("a spawn without an end");
  if (line != "endcmd") return std::nullopt;
  const std::size_t last = spawning_.rfind("mcmd=");
  const std::string_view latest = std::string_view(spawning_).substr(last);
  if (value_of(latest, "totspawns") != value_of(latest, "spawnssofar")) return std::nullopt;
  spawning_.clear();
  spawn_size_ = 0;
  return refuse("spawn_result", "MPI_Comm_spawn");
}

Said Conversation::command(std::string_view line, KeySpace& space) {
  const std::string_view name = line.starts_with("cmd=") ? value_of(line, "cmd") : "";
  if (name == "abort") {  // any thread may call it
    aborted_ = number_of<int>(value_of(line, "exitcode")).value_or(1);
    over_ = true;
    return {Kind::aborted, "", *aborted_, {}};
  }
  if (at_barrier_) return nonsense(quoted(line) + " while it waits in a barrier");
  if (name == "init") return init(line);
  if (name == "get_maxes") return maxes();
  if (name == "get_appnum") return answer("cmd=appnum rc=0 appnum=0\n");
  if (name == "get_my_kvsname")
    return answer("cmd=my_kvsname rc=0 kvsname=" + space.job().name + "\n");
  if (name == "get_universe_size")
    return answer("cmd=universe_size rc=0 size=" + std::to_string(space.job().size) + "\n");
  if (name == "put") return put(line, space);
  if (name == "get") {
    asked_of_others_ = asked_of_others_ || asks_of_others(line);
    return get(line, space);
  }
  if (name == "barrier_in") {
    at_barrier_ = true;
    return say(Kind::at_barrier, "");
  }
  if (name == "finalize") {
    finalized_ = true;
    return say(Kind::finalized, "cmd=finalize_ack rc=0\n");
  }
  if (name == "publish_name") return refuse("publish_result", "MPI_Publish_name");
  if (name == "unpublish_name") return refuse("unpublish_result", "MPI_Unpublish_name");
  if (name == "lookup_name") return refuse("lookup_result", "MPI_Lookup_name");
  return nonsense(quoted(line));
}

/// Clients of PMI-2 also begin with an init in the form of PMI-1.
Said Conversation::init(std::string_view line) {
  const auto version = number_of<int>(value_of(line, "pmi_version"));
  if (version != 1) {
    Said said = nonsense("it asks for version " +
                         quoted(value_of(line, "pmi_version").substr(0, 8)) + " of PMI");
    said.text = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n";
    return said;
  }
  connected_ = true;
  finalized_ = false;
  return say(Kind::connected, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
}

Said Conversation::nonsense(std::string what) {
  over_ = true;
  heard_.clear();
  spawning_.clear();
  return {Kind::nonsense, "", 0, std::move(what)};
}

std::string_view Conversation::barrier_out() {
  return std::exchange(at_barrier_, false) ? "cmd=barrier_out rc=0\n" : "";
}

}  // namespace dlaunch::pmi
