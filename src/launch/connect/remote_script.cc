#include "launch/connect/remote_script.h"

#include <cassert>
#include <string_view>

namespace dlaunch {

namespace {

std::string for_any_shell(const std::string& script) {
  assert(script.find_first_of("'!\\\n") == std::string::npos);
  return "exec /bin/sh -c '" + script + "'";
}

// An rc file may have closed stdin or replaced it by /dev/null. A closed one cannot be duplicated;
// this is tried with true(1), because a redirection of ":" that fails ends a POSIX shell.
constexpr const char* kNoStdin =
    R"sh(nothing() { echo "$m failed its stdin is $1 and not the connection: an rc file of the login shell there )sh"
    R"sh((exec </dev/null) or an option of the connection (ssh -n) replaced it"; exit 1; }; )sh"
    R"sh({ true 3<&0; } 2>/dev/null || nothing closed; [ -c /dev/stdin ] && nothing "a device"; )sh";

// The marker is assembled on the node, so that a shell that prints its command does not look like
// an answer.
std::string prelude(std::uint64_t session) {
  return std::string("who=; m=@; m=${m}") + (kMarker + 1) + session_text(session) + "; " + kNoStdin;
}

// A folder of ours that others cannot write to; with a second argument, also one inside it. POSIX
// offers only ls(1) to see a mode; starting it costs a millisecond, so one call covers both. ls
// lists the outer folder first, because its name is the beginning of the other's.
constexpr const char* kOwn =
    R"sh(ours() { [ -d "$1" ] && [ -O "$1" ] || return 1; [ -L "$1" ] && return 1; return 0; }; )sh"
    R"sh(own() { ours "$1" && ours "${2:-$1}" || return 1; set -f; )sh"
    R"sh(case $(echo $(ls -ld "$1" ${2:+"$2"}))$# in drwx------*" drwx------"*2) return 0;; drwx------*1) return 0;; esac; return 1; }; )sh";

// A link that another user put into a shared folder must not redirect chmod.
constexpr const char* kMine =
    R"sh(mine() { [ -L "$1" ] && return; [ -O "$1" ] && chmod 700 "$1" 2>/dev/null; }; )sh";

/// Assigns kFolders[folder] to d. XDG Base Directory Specification: a relative XDG_CACHE_HOME is
/// ignored. id(1) costs a millisecond on the node and runs once for all folders.
std::string find_folder(std::size_t folder) {
  switch (folder) {
    case 0:
      return R"sh(case ${XDG_CACHE_HOME:-} in /*) d=$XDG_CACHE_HOME;; *) d=${HOME:-/nonexistent}/.cache;; esac; d=$d/dlaunch; )sh";
    case 1:
      return "d=/var/tmp/dlaunch-${who:=$(id -u)}; ";
    case 2:
      return "d=/tmp/dlaunch-${who:=$(id -u)}; ";
    default:
      return "d=/dev/shm/dlaunch-${who:=$(id -u)}; ";
  }
}

std::string agent_words(const RemoteAgent& agent) {
  const std::string node = " --node " + std::to_string(agent.node) + " --build " + agent.build_id +
                           " --size " + std::to_string(agent.size);
  if (agent.purpose == Purpose::attach)
    return "agent --attach " + session_text(agent.session) + node;
  return "agent --session " + session_text(agent.session) + node +
         (agent.after != 0 ? " --after " + session_text(agent.after) : "") +
         (agent.pid_namespace ? " --pid-namespace" : "");
}

/// Copies `size` bytes from stdin to stdout; fd 3 is the connection.
std::string take_parts(std::uint64_t size) {
  const std::uint64_t full = size > 0 ? (size - 1) / kUploadPart : 0;
  return "i=" + std::to_string(full) + "; while [ $i -gt 0 ]; do head -c " +
         std::to_string(kUploadPart) + R"sh( && echo "$m more" >&3 || exit 1; i=$((i-1)); done; )sh" +
         "head -c " + std::to_string(size - full * kUploadPart) + "; ";
}

/// Makes the folder and in it an empty file $f, which clean() removes.
std::string make_place(const RemoteAgent& agent, std::size_t folder) {
  std::string script = std::string("u=$(umask); umask 077; t=; ") + kMine;
  script += R"sh(clean() { [ -n "$t" ] && rm -f "$t" "$t.g"; }; trap clean 0; )sh"
            R"sh(no() { printf "%s failed %s" "$m" "$1"; echo; exit 1; }; )sh";
  script += find_folder(folder) + "b=$d/" + agent.build_id + "; ";
  // Each process that this starts costs a millisecond on the node. The umask closes new folders.
  script +=
      R"sh(mk() { [ -d "$1" ] && { mine "$1"; return; }; e=$(mkdir "$1" 2>&1) || [ -d "$1" ] || no "$e"; }; )sh"
      R"sh(p=${d%/*}; [ -d "$p" ] || e=$(mkdir -p "$p" 2>&1) || no "$e"; )sh"
      R"sh(mk "$d"; ours "$d" || no "$d: belongs to another user or is a link"; )sh"
      R"sh(mk "$b"; own "$d" "$b" || no "$b: belongs to another user or is a link"; )sh"
      // What an earlier broken upload left. own() has disabled file name expansion.
      R"sh(set +f; for o in "$b"/new.*; do [ -e "$o" ] && )sh"
      R"sh(find "$o" -prune -mtime +0 -exec rm -rf {} + 2>/dev/null; done; )sh"
      R"sh(t=$(mktemp "$b/new.XXXXXX" 2>&1) || { e=$t; t=; no "$e"; }; f=$t; )sh";
  return script;
}

/// Tries the program in $f, gives it its name and executes the agent.
std::string put_in_place(const RemoteAgent& agent) {
  const std::string size = std::to_string(agent.size);
  std::string script = R"sh(n=$(wc -c <"$f"); )sh";
  script += "[ $n -eq " + size + " ] || no \"only $n of " + size + " bytes arrived\"; ";
  script +=
      R"sh(chmod 700 "$f"; e=$("$f" agent --probe 2>&1 </dev/null) || no "$f: cannot be executed: $e"; )sh";
  script += "[ \"$e\" = " + agent.build_id + " ] || no \"$f: is not what was sent: $e\"; ";
  script +=
      R"sh(same() { [ -L "$1" ] && return 1; [ -f "$1" ] && [ -x "$1" ] && [ -O "$1" ] && cmp -s "$1" "$f"; }; )sh"
      R"sh(if same "$b/dlaunch"; then clean; else e=$(mv -f "$f" "$b/dlaunch" 2>&1) || no "$e"; fi; t=; )sh"
      // Removes builds that have not been used for long (node/session/staged_binary.h); a run that
      // started meanwhile uploads its own again. Only folders whose name is a build id, 40 hex
      // digits, and in them only what we put there: run folders and users' folders may be beside
      // them.
      R"sh(x=[0123456789abcdef]; x=$x$x$x$x$x; x=$x$x$x$x$x$x$x$x; )sh"
      R"sh(for o in "$d"/*/dlaunch; do n=${o%/dlaunch}; [ "$n" = "$b" ] && continue; )sh"
      R"sh(case ${n##*/} in $x) ;; *) continue;; esac; [ -L "$n" ] && continue; [ -O "$o" ] && )sh"
      R"sh([ -n "$(find "$o" -type f -mtime +30 2>/dev/null)" ] && )sh"
      R"sh(rm -f "$o" 2>/dev/null && rmdir "$n" 2>/dev/null; done; )sh"
      R"sh(umask $u; echo "$m started"; exec "$b/dlaunch" )sh";
  return script + agent_words(agent) + '\n';
}

[[maybe_unused]] bool is_word(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz") == std::string_view::npos;
}

}  // namespace

std::string session_text(std::uint64_t session) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; session >>= 4) text[i] = kDigits[session & 15];
  return text;
}

std::string agent_script(const RemoteAgent& agent, bool anew) {
  assert(is_word(agent.build_id));
  std::string script = prelude(agent.session) + kOwn;
  if (!anew) {
    script +=
        "go() { b=$d/" + agent.build_id + "; f=$b/dlaunch; " +
        R"sh([ -f "$f" ] && [ -x "$f" ] && [ -O "$f" ] || return 0; [ -L "$f" ] && return 0; )sh"
        R"sh(own "$d" "$b" && echo "$m started" && exec "$f" )sh" +
        agent_words(agent) + "; }; ";
    for (std::size_t folder = 0; folder < kFolderCount; ++folder)
      script += find_folder(folder) + "go; ";
  }
  // read(1) takes no byte beyond the line's end.
  return for_any_shell(script + R"sh(echo "$m missing $(uname -m)"; read -r l && eval "$l")sh");
}

std::string stage_line(const RemoteAgent& agent, std::size_t folder) {
  assert(is_word(agent.build_id));
  return make_place(agent, folder) + R"sh(exec 3>&1; e=$( { )sh" + take_parts(agent.size) +
         R"sh(} 2>&1 >"$f") || no "$f: $e"; exec 3>&-; )sh" + put_in_place(agent);
}

std::string fetch_line(const RemoteAgent& agent, std::size_t fetcher, const std::string& order) {
  assert(is_word(agent.build_id) && is_word(order));
  // head(1) and cat(1) take all of dlaunch-fetch from stdin, whatever becomes of it: what they left
  // would be read as the launcher's next line, or by the agent as its first message.
  const std::string take = "head -c " + std::to_string(fetcher) + ' ';
  // The order contains a ticket, so it must not appear on a command line.
  return R"sh(u=$(umask); t=; un() { [ -n "$t" ] && clean; t=; umask $u; )sh"
         R"sh(printf "%s unfetched %s" "$m" "$1"; echo; read -r l && eval "$l"; exit; }; )sh" +
         find_folder(0) + "if [ -x \"$d/" + agent.build_id + "/dlaunch\" ]; then " + take +
         R"sh(>/dev/null; go; un "what is there cannot be used"; fi; )sh" + make_place(agent, 0) +
         "e=$( { " + take +
         R"sh(| { cat >"$f.g" || { cat >/dev/null; false; }; }; } 2>&1 ) && )sh"
         // dlaunch-fetch may end before it has read the order.
         R"sh(chmod 700 "$f.g" && e=$(echo )sh" +
         order + R"sh( 2>/dev/null | "$f.g" 2>&1 >"$f") || un "$e"; rm -f "$f.g"; )sh" + put_in_place(agent);
}

}  // namespace dlaunch
