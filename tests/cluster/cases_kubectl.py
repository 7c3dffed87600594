"""connect.via: kubectl, with a stand-in for kubectl (kubectl.py) that enters the nodes of the cluster as pods."""

import json
import os
import signal

from case import case
from expectations import expect, expect_equal, expect_in
from processes import children_of, command_of, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
JOB_FILE, NODE_LOST = 65, 69
KEYS = ("connect.namespace=team", "connect.context=lab", "connect.container=train")


class Pods:
    """The nodes as pods worker-1, worker-2, ... of the namespace `team`."""

    def __init__(self, box, count):
        self.box, self.cluster = box, box.make_cluster(count)
        self.file = box.path("pods.json")
        self.pods = {f"worker-{i}": {"init": node.init, "phase": "Running", "ip": node.address, "labels": {"app": "train"},
                                     "container": "train", "deleted": ""} for i, node in enumerate(self.cluster.nodes, 1)}
        self.fault = None
        programs = box.make_folder("programs")
        os.symlink(os.path.join(HERE, "kubectl.py"), os.path.join(programs, "kubectl"))
        self.environment = {"CLUSTER_PODS": self.file, "PATH": f"{programs}:{box.environment['PATH']}"}

    def launch(self, *command, hosts=(), settings=KEYS, **more):
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump({"context": "lab", "namespace": "team", "pods": self.pods, "fault": self.fault}, file)
        words = [word for one in ("connect.via=kubectl", *settings) for word in ("--set", one)]
        if hosts:
            words += ["--set", f"hosts=[{', '.join(hosts)}]"]
        return self.box.start("run", *words, "--set", "env_pass=[EVENTS, CASE]", "--", *command, env=self.environment, **more)

    def refused(self, *expected, code=NODE_LOST, hosts=("worker-1", "worker-2"), settings=KEYS):
        run = self.launch("/bin/true", hosts=hosts, settings=settings).end(code, left=1000)
        for words in expected:
            expect_in(words, run.words, f"the error with {settings}")


@case
def pods_by_name_are_nodes(box):
    pods = Pods(box, 2)
    pods.launch("/bin/sh", "-c", "echo $RANK on $(hostname)", hosts=["worker-2", "worker-1"]).end(0)
    for rank, node in ((0, "node2"), (1, "node1")):
        expect_equal(box.rank_output(rank), f"{rank} on {node}\n".encode(), f"rank {rank}")


@case
def pods_of_a_label_are_nodes_in_the_order_of_their_numbers(box):
    pods = Pods(box, 2)
    pods.pods["worker-10"] = pods.pods.pop("worker-1")
    ended = {**pods.pods["worker-10"], "phase": "Succeeded", "init": 0}
    pods.pods["worker-3"] = ended
    pods.pods["worker-4"] = {**pods.pods["worker-10"], "deleted": "2026-11-23T19:00:00Z"}
    pods.pods["other-1"] = {**pods.pods["worker-10"], "labels": {"app": "other"}}
    pods.launch("/bin/sh", "-c", "echo $RANK of $WORLD_SIZE on $(hostname), $MASTER_ADDR",
                settings=[*KEYS, "connect.selector=app=train"]).end(0)
    for rank, node in ((0, "node2"), (1, "node1")):
        expect_equal(box.rank_output(rank), f"{rank} of 2 on {node}, {pods.cluster[2].address}\n".encode(), f"rank {rank}")


@case
def a_connection_that_breaks_is_made_again(box):
    """What kubectl has started in a pod outlives it."""
    pods = Pods(box, 2)
    script = "echo ready $RANK > $EVENTS; until [ -e $CASE/enough ]; do sleep 0.01; done; echo $RANK on $(hostname)"
    run = pods.launch("/bin/sh", "-c", script, hosts=["worker-1", "worker-2"])
    box.expect_all("ready", 2)

    def kubectls(pid):
        for child in children_of(pid):
            if "kubectl exec" in command_of(child):
                yield child
            yield from kubectls(child)
    found = list(kubectls(run.pid))
    expect_equal(len(found), 2, "kubectl processes")
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(set(kubectls(run.pid)) - set(found)) == 2, "two new connections", 10, 0.01)
    box.write("enough", "")
    run.end(0)
    for rank in (0, 1):
        expect_equal(box.rank_output(rank), f"{rank} on node{rank + 1}\n".encode(), f"rank {rank}")


@case
def what_kubectl_refuses_is_told_in_its_words_with_what_to_do(box):
    pods = Pods(box, 2)
    pods.refused('worker-7: kubectl: Error from server (NotFound): pods "worker-7" not found; is it in another namespace (connect.namespace)?',
                 hosts=["worker-1", "worker-7"])
    pods.refused("worker-1: kubectl: Error from server (NotFound)", settings=["connect.namespace=teem"])
    pods.refused('worker-1: kubectl: Error in configuration: context was not found for specified context: lob', settings=["connect.context=lob"])
    pods.refused("worker-1: kubectl: Error from server (BadRequest): container trian is not valid for pod worker-1; the pod has no such container",
                 settings=["connect.namespace=team", "connect.container=trian"])
    pods.fault = ['Error from server (Forbidden): pods "worker-1" is forbidden: User "me" cannot create resource "pods/exec" in API group ""', 1]
    pods.refused('is forbidden: User "me" cannot create resource "pods/exec"', "try: kubectl auth can-i create pods --subresource=exec")
    pods.fault = ["The connection to the server 10.9.9.9:6443 was refused - did you specify the right host or port?", 1]
    pods.refused("kubectl: The connection to the server 10.9.9.9:6443 was refused")
    pods.fault = None
    pods.pods["worker-2"].update(init=0)
    pods.refused('worker-2: kubectl: unable to upgrade connection: container not found ("train"); the container is not running')
    pods.pods["worker-2"].update(phase="Succeeded")
    pods.refused("cannot exec into a container in a completed pod; current phase is Succeeded; the pod has ended")
    pods.pods["worker-2"].update(phase="Pending")
    pods.refused("pod worker-2 does not have a host assigned; the pod is not scheduled yet")


@case
def a_selector_without_running_pods_is_an_error(box):
    pods = Pods(box, 2)
    none = [*KEYS, "connect.selector=app=trian"]
    pods.refused("there is no running pod with connect.selector: app=trian", hosts=(), settings=none)
    pods.refused("the hosts of the job and connect.selector both say which nodes to use", code=JOB_FILE, settings=none)
    pods.refused("connect.via: kubectl needs hosts, or connect.selector", code=JOB_FILE, hosts=())
    pods.pods["worker-2"].update(phase="Pending", ip="")
    pods.refused("the pod worker-2 with connect.selector: app=train is Pending; all must be Running", hosts=(),
                 settings=[*KEYS, "connect.selector=app=train"])


@case
def a_machine_without_kubectl(box):
    pods = Pods(box, 1)
    os.unlink(box.path("programs/kubectl"))
    pods.environment["PATH"] = box.path("programs")
    pods.refused('there is no program "kubectl" on this machine', hosts=["worker-1"])
    expect(not pods.cluster.left(), "something was started")
