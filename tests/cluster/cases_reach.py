"""Where the ranks meet: real networks that connect some nodes and not others, firewalls, bridges that every machine has."""

import json

from case import case
from expectations import expect, expect_equal, expect_in
from processes import wait_until

PRINT = ["sh", "-c", "echo $MASTER_ADDR $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME $TP_SOCKET_IFNAME"]
SECOND = "10.78.0"


def add_second_network(box, names=None):
    """A second cable on every node, with addresses of 10.78.0.0/24. `names`: {node: interface}, eth1 where there is none."""
    cluster = box.cluster
    cluster.ip("link", "add", "second", "type", "bridge")
    cluster.ip("link", "set", "second", "up")
    for node in cluster.nodes:
        name = (names or {}).get(node.name, "eth1")
        cluster.ip("link", "add", f"w{node.number}", "type", "veth", "peer", "name", name, "netns", node.name)
        cluster.ip("link", "set", f"w{node.number}", "master", "second", "up")
        node.sh(f"ip addr add {SECOND}.{node.number}/24 dev {name} && ip link set {name} up")


def block(node, source, target="DROP", interface="eth0"):
    """The node accepts no connections from that address, except those of ssh."""
    node._iptables("-A", "INPUT", "-i", interface, "-s", source, "-p", "tcp", "--dport", "1024:65535", "-j", target)


def plan(box, *options, code=0):
    return box.run("plan", "--set", f"hosts=[{', '.join(box.cluster.names)}]", "--set", f"connect.ssh={box.cluster.ssh}",
                   *options, "--json", "--", "true", code=code)


def master(run):
    return json.loads(run.out)["master"]


@case
def ranks_meet_in_the_network_that_the_nodes_share(box):
    cluster = box.make_cluster(2)
    for node in cluster.nodes:  # what a container engine leaves on every machine
        node.sh("ip link add docker0 type bridge && ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up && "
                "ip link add lan type bridge && ip addr add 192.168.9.1/24 dev lan && ip link set lan up")
    box.launch(*PRINT).end(0)
    for rank in (0, 1):
        expect_equal(box.rank_output(rank), f"{cluster[1].address} =eth0 eth0 eth0\n".encode(), f"rank {rank}")
    expect_equal(master(plan(box))["reason"], "eth0, the only subnet that both nodes share", "reason")


@case
def a_connection_that_breaks_during_the_check_disturbs_it_not(box):
    """A node's result is reported over the next connection."""
    cluster = box.make_cluster(3)
    add_second_network(box)
    block(cluster[1], cluster[3].address)  # the check waits for its result
    run = box.launch(*PRINT)
    wait_until(lambda: [one for one in box.cluster.listeners() if one.kind == "tcp" and one.program.endswith("/dlaunch")],
               "node1 listens for the check", 20, 0.01)
    for node in cluster.nodes:
        expect(node.kill_sessions() > 0, f"no session on {node.name}")
    run.end(0)
    for rank in range(3):
        expect_in(f"{SECOND}.1 =eth1".encode(), box.rank_output(rank), f"rank {rank}")


@case
def a_network_that_one_node_cannot_use_is_not_taken(box):
    cluster = box.make_cluster(3)
    add_second_network(box, {"node2": "ens7"})
    block(cluster[1], cluster[3].address)
    box.launch(*PRINT).end(0)
    for rank, name in enumerate(("eth1", "ens7", "eth1")):
        expect_equal(box.rank_output(rank), f"{SECOND}.1 ={name} {name} {name}\n".encode(), f"rank {rank}")
    expect_in(f"{cluster[1].address}: not reached by node3 (timed out)", master(plan(box))["reason"], "reason")


@case
def an_address_that_is_refused_at_once_costs_no_time(box):
    cluster = box.make_cluster(3)
    add_second_network(box)
    block(cluster[1], cluster[3].address, "REJECT")
    run = plan(box)
    expect_equal(master(run)["address"], f"{SECOND}.1", "where they meet")
    expect_in(f"{cluster[1].address}: not reached by node3 (Connection refused)", master(run)["reason"], "reason")


@case
def where_no_address_is_reached_the_run_does_not_begin(box):
    cluster = box.make_cluster(3)
    block(cluster[1], cluster[3].address)
    cluster[1].sh("ip -6 addr flush dev eth0")
    run = box.launch(*PRINT)
    run.end(75)
    expect_in("no address of node1 is reached by all other nodes on port", run.text, "the error")
    expect_in(f"{cluster[1].address} (eth0): not reached by node3 (timed out)", run.text, "who and why")
    expect_in("rendezvous.interface", run.text, "what to try")
    expect(run.seconds < 40, f"{run.seconds:.1f} s")
    expect_equal(box.rank_output(0), b"", "no rank was started")


@case
def the_chosen_interface_and_the_chosen_address(box):
    cluster = box.make_cluster(2)
    add_second_network(box, {"node2": "ens7"})
    for options in (["rendezvous.interface=eth1,ens*"], [f"rendezvous.interface={SECOND}.0/24"], ["rendezvous.interface=^eth0"],
                    [f"rendezvous.address={SECOND}.1"]):
        expect_equal(master(plan(box, "--set", *options))["address"], f"{SECOND}.1", options[0])
    run = plan(box, "--set", "rendezvous.interface=eth1", code=75)
    expect_in("rendezvous.interface: eth1 matches no interface that is up on node2, which has eth0 (10.77.0.2)", run.text, "the error")
    expect_equal(master(plan(box, "--set", "rendezvous.interface=fd77::/64"))["address"], cluster[1].address6, "IPv6")


@case
def nothing_listens_when_ranks_run(box):
    cluster = box.make_cluster(2)
    run = box.launch("sh", "-c", "ss -Htln; echo --; ss -Htan state time-wait")
    run.end(0)
    for rank in (0, 1):
        listeners, waiting = box.rank_output(rank).decode().split("--\n")
        expect(all(":22 " in line for line in listeners.splitlines()), f"listeners on {cluster.names[rank]}:\n{listeners}")
        if rank == 0:  # those of sshd are the logins of the launcher
            ours = [line for line in waiting.splitlines() if ":22 " not in line]
            expect_equal(ours, [], "connections in TIME_WAIT on the master's node")
