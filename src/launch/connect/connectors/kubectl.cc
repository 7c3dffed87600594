// kubectl exec: pods of Kubernetes as nodes, by name or by a label selector.
#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>

#include <sys/wait.h>

#include "jobfile/shell_quote.h"
#include "launch/connect/connector.h"

namespace dlaunch {

namespace {

/// `kubectl VERB` with the job's cluster and namespace; what the job does not name is that of the
/// user's kubeconfig.
std::vector<std::string> kubectl(const Connect& connect, const char* verb) {
  std::vector<std::string> words = {"kubectl", verb};
  for (const char* key : {"context", "namespace"}) {
    if (const auto value = connect.settings.find(key); value != connect.settings.end())
      words.insert(words.end(), {std::string("--") + key, value->second});
  }
  return words;
}

Result<std::vector<std::string>> argv(const Connect& connect, const HostSpec& host,
                                      const ConnectRequest& request) {
  std::vector<std::string> words = kubectl(connect, "exec");
  words.emplace_back("-i");
  if (const auto container = connect.settings.find("container");
      container != connect.settings.end())
    words.insert(words.end(), {"--container", container->second});
  words.insert(words.end(), {host.name, "--", "/bin/sh", "-c", request.remote_command});
  return words;
}

std::string by_hand(const Connect& connect, const HostSpec& host) {
  return jobfile::shell_line(*argv(connect, host, {"echo hello"}));
}

struct Advice {
  std::string_view part;  // of a line of kubectl
  const char* text;
};

// As worded by kubectl 1.32, the API server and the kubelet.
constexpr std::array<Advice, 7> kAdvice = {{
    {"(NotFound): pods ", "is it in another namespace (connect.namespace)?"},
    {" is forbidden: ", "try: kubectl auth can-i create pods --subresource=exec"},
    {"container not found (", "the container is not running; try: kubectl get pods"},
    {"in a completed pod", "the pod has ended; it must keep running, for example with sleep"},
    {"does not have a host assigned", "the pod is not scheduled yet; try: kubectl get pods"},
    {"is not valid for pod", "the pod has no such container (connect.container)"},
    {"exec: \"/bin/sh\"", "the container's image needs a shell"},
}};

/// An error of kubectl itself, which then exits with 1; empty: the remote command ended.
std::string own_error(const ConnectEnd& end) {
  constexpr std::array kBeginnings = {"error: ", "Error from server", "Error in configuration",
                                      "Unable to connect to the server",
                                      "The connection to the server"};
  const std::vector<std::string> lines = lines_of(end.errors);
  const auto is_of_command = [](const std::string& line) {
    return line.starts_with("command terminated with exit code");
  };
  if (WEXITSTATUS(end.wait_status) != 1 || std::any_of(lines.begin(), lines.end(), is_of_command))
    return "";
  const auto own = std::find_if(lines.rbegin(), lines.rend(), [&](const std::string& line) {
    return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                       [&](const char* one) { return line.starts_with(one); });
  });
  if (own == lines.rend()) return "";
  constexpr std::string_view kError = "error: ";
  std::string text =
      with_program(end, own->starts_with(kError) ? own->substr(kError.size()) : *own);
  const auto advice = std::find_if(kAdvice.begin(), kAdvice.end(), [&](const Advice& one) {
    return text.find(one.part) != std::string::npos;
  });
  return advice == kAdvice.end() ? text : text + "; " + advice->text;
}

/// The last line of stderr that kubectl did not write.
std::string last_line_of_command(const ConnectEnd& end) {
  constexpr std::array kNotes = {"command terminated with exit code", "Defaulted container ",
                                 "Defaulting container name "};
  std::vector<std::string> lines = lines_of(end.errors);
  std::erase_if(lines, [&](const std::string& line) {
    return std::any_of(kNotes.begin(), kNotes.end(),
                       [&](const char* one) { return line.starts_with(one); });
  });
  return lines.empty() ? "" : lines.back();
}

ConnectFailure failure(const ConnectEnd& end) {
  using Kind = ConnectFailure::Kind;
  if (std::string killed = killed_text(end); !killed.empty())
    return {Kind::final, std::move(killed)};
  if (std::string own = own_error(end); !own.empty()) {
    const bool is_busy = own.find("(TooManyRequests)") != std::string::npos ||
                         own.find("too many requests") != std::string::npos;
    return {is_busy ? Kind::refused_for_now : Kind::final, std::move(own)};
  }
  return command_failure(end, last_line_of_command(end));
}

LastWords end_of_connection(const ConnectEnd& end) {
  std::string why = killed_text(end);
  if (why.empty()) why = own_error(end);
  return {why.empty() ? agent_end_text(end) : "its connection ended: " + why};
}

std::vector<std::string> list_pods(const Connect& connect) {
  std::vector<std::string> words = kubectl(connect, "get");
  words.insert(words.end(),
               {"pods", "--selector=" + connect.settings.at("selector"), "--request-timeout=20s",
                "-o=jsonpath={range .items[*]}{.metadata.name}{\" \"}{.status.phase}{\" \"}"
                "{.status.podIP}{\" \"}{.metadata.deletionTimestamp}{\"\\n\"}{end}"});
  return words;
}

/// The pods in the natural order of their names (worker-2 before worker-10), without those that
/// have ended or are being deleted.
Result<std::vector<HostSpec>> read_pods(const Connect& connect, std::string_view output) {
  const std::string of_selector = " with connect.selector: " + connect.settings.at("selector");
  std::vector<HostSpec> hosts;
  for (const std::string& line : lines_of(output)) {
    std::istringstream columns(line);
    HostSpec host;
    std::string phase;
    std::string deleted;
    columns >> host.name >> phase >> host.address >> deleted;
    if (phase == "Succeeded" || phase == "Failed" || !deleted.empty()) continue;
    if (phase != "Running")
      return fail(exit_code::kNodeLost,
                  "the pod " + host.name + of_selector + " is " + phase + "; all must be Running");
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) return fail(exit_code::kNodeLost, "there is no running pod" + of_selector);
  std::sort(hosts.begin(), hosts.end(), [](const HostSpec& a, const HostSpec& b) {
    return ::strverscmp(a.name.c_str(), b.name.c_str()) < 0;
  });
  return hosts;
}

constexpr NodeListing kPods{"selector", list_pods, read_pods};

}  // namespace

extern const Connector kKubectlConnector;
const Connector kKubectlConnector{.name = "kubectl",
                                  .own_exit_codes = true,  // 137 if the container was killed
                                  .program = [](const Connect&) { return std::string("kubectl"); },
                                  .argv = argv,
                                  .failure = failure,
                                  .end = end_of_connection,
                                  .by_hand = by_hand,
                                  .listing = &kPods};

}  // namespace dlaunch
