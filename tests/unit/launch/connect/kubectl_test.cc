// kubectl's command lines, and what its errors mean. The texts are those of kubectl 1.32 against a
// scripted API server, and others that users have reported.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/connect/connector.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using Kind = ConnectFailure::Kind;

const Connector& connector() {
  return *find_connector("kubectl");
}

HostSpec pod(const std::string& name) {
  HostSpec host;
  host.name = name;
  return host;
}

ConnectEnd ended(int code, const std::string& errors) {
  return {code << 8, "kubectl", errors, ""};
}

TEST(Kubectl, RunsTheCommandInTheContainerThatTheJobNames) {
  EXPECT_THAT(*connector().argv({}, pod("worker-1"), {"exec /bin/sh -c 'x'"}),
              ElementsAre("kubectl", "exec", "-i", "worker-1", "--", "/bin/sh", "-c",
                          "exec /bin/sh -c 'x'"));
  Connect connect;
  connect.settings = {{"namespace", "team"}, {"context", "gpu"}, {"container", "train"}};
  EXPECT_EQ(
      connector().by_hand(connect, pod("worker-1")),
      "kubectl exec --context gpu --namespace team -i --container train worker-1 -- /bin/sh -c "
      "'echo hello'");
}

TEST(Kubectl, ListsTheRunningPodsOfASelectorInTheOrderOfTheirNumbers) {
  Connect connect;
  connect.settings = {{"selector", "app=train"}, {"namespace", "team"}};
  const NodeListing& pods = *connector().listing;
  EXPECT_THAT(pods.argv(connect), testing::IsSupersetOf({"get", "--namespace", "team", "pods",
                                                         "--selector=app=train"}));
  const auto hosts = pods.read(connect,
                               "worker-10 Running 10.1.0.10 \nworker-2 Running 10.1.0.2 \n"
                               "old-1 Succeeded 10.1.0.3 \nold-2 Failed  \n"
                               "worker-1 Running 10.1.0.1 2026-11-23T19:00:00Z\n");
  ASSERT_TRUE(hosts) << hosts.error().message;
  ASSERT_EQ(hosts->size(), 2U);
  EXPECT_EQ((*hosts)[0].name, "worker-2");
  EXPECT_EQ((*hosts)[1].name, "worker-10");
  EXPECT_EQ((*hosts)[1].address, "10.1.0.10");
  EXPECT_EQ(pods.read(connect, "old-1 Failed 10.1.0.3 \n").error().message,
            "there is no running pod with connect.selector: app=train");
  EXPECT_EQ(pods.read(connect, "worker-2 Running 10.1.0.2 \nworker-3 Pending  \n").error().message,
            "the pod worker-3 with connect.selector: app=train is Pending; all must be Running");
}

struct Case {
  int code;
  const char* errors;
  Kind kind;
  const char* text;
};

TEST(Kubectl, SaysOneLineThatNamesTheCauseAndWhatToDo) {
  const Case cases[] = {
      {1, "Error from server (NotFound): pods \"worker-1\" not found\n", Kind::final,
       "kubectl: Error from server (NotFound): pods \"worker-1\" not found; is it in another "
       "namespace (connect.namespace)?"},
      {1,
       "error: unable to upgrade connection: pods \"w\" is forbidden: User \"me\" cannot create "
       "resource \"pods/exec\" in API group \"\" in the namespace \"team\"\n",
       Kind::final,
       "kubectl: unable to upgrade connection: pods \"w\" is forbidden: User \"me\" cannot create "
       "resource \"pods/exec\" in API group \"\" in the namespace \"team\"; try: kubectl auth "
       "can-i "
       "create pods --subresource=exec"},
      // With lines that the client library logs first.
      {1,
       "E1123 10:44:52.091585    7818 memcache.go:265] couldn't get current server API group list: "
       "Get \"http://localhost:8080/api?timeout=32s\": dial tcp [::1]:8080: connect: connection "
       "refused\nThe connection to the server localhost:8080 was refused - did you specify the "
       "right host or port?\n",
       Kind::final,
       "kubectl: The connection to the server localhost:8080 was refused - did you specify the "
       "right host or port?"},
      {1, "Unable to connect to the server: net/http: TLS handshake timeout\n", Kind::final,
       "kubectl: Unable to connect to the server: net/http: TLS handshake timeout"},
      {1, "error: You must be logged in to the server (Unauthorized)\n", Kind::final,
       "kubectl: You must be logged in to the server (Unauthorized)"},
      {1,
       "Defaulted container \"train\" out of: train, proxy\nerror: unable to upgrade connection: "
       "container not found (\"train\")\n",
       Kind::final,
       "kubectl: unable to upgrade connection: container not found (\"train\"); the container is "
       "not running; try: kubectl get pods"},
      {1, "Error from server (TooManyRequests): the server has received too many requests\n",
       Kind::refused_for_now,
       "kubectl: Error from server (TooManyRequests): the server has received too many requests"},
      {127,
       "Defaulted container \"train\" out of: train, proxy\n/bin/sh: 1: exec: /x/dlaunch: not "
       "found\ncommand terminated with exit code 127\n",
       Kind::cannot_execute,
       "kubectl: its command ended with code 127: /bin/sh: 1: exec: /x/dlaunch: not found"},
      // The command's own message, not kubectl's.
      {1, "error: disk quota exceeded\ncommand terminated with exit code 1\n", Kind::final,
       "kubectl: its command ended with code 1: error: disk quota exceeded"},
  };
  for (const Case& one : cases) {
    const ConnectFailure failure = connector().failure(ended(one.code, one.errors));
    EXPECT_EQ(failure.text, one.text);
    EXPECT_EQ(failure.kind, one.kind) << one.text;
  }
}

TEST(Kubectl, AnOpenConnectionThatEnds) {
  EXPECT_EQ(connector().end({SIGKILL, "kubectl", "", ""}).text,
            "its connection ended: kubectl: was killed by SIGKILL");
  EXPECT_EQ(connector().end(ended(1, "error: unexpected EOF\n")).text,
            "its connection ended: kubectl: unexpected EOF");
  EXPECT_EQ(connector().end(ended(137, "command terminated with exit code 137\n")).text, "");
  EXPECT_EQ(connector()
                .end(ended(70,
                           "dlaunch: no more memory\ncommand terminated with exit code "
                           "70\n"))
                .text,
            "its agent ended: no more memory");
}

}  // namespace
}  // namespace dlaunch
