"""perform_on_nodes.py SEED FOLDER RESULT DLAUNCH RANK_PROGRAM: one chaos run over nodes in this process, which run.py has made the init
process of a lab (tests/cluster); writes the outcome as JSON to RESULT."""

import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), name) for name in ("process", "cluster")]
import expectations_of_chaos as after  # noqa: E402
import nodes_scenario as scenarios  # noqa: E402
from cluster_sandbox import ClusterSandbox  # noqa: E402
from expectations import expect, expect_in  # noqa: E402
from nodes_scenario import KILLED, NODE_LOST, SUCCESS  # noqa: E402
from processes import children_of, descendants_of, process_table, program_of, wait_gone, wait_until  # noqa: E402

PATIENCE = 60.0  # seconds until a run must have ended; connecting may take CONNECT
LOOK = 0.02


class NodesChaos:
    def __init__(self, box, scenario):
        self.box, self.scenario, self.kind = box, scenario, scenario.kind
        self.records = {}
        self.later = {}  # (attempt, rank): of restarts
        self.struck_again = False
        self.run, self.cluster, self.node = None, None, None
        self.struck = False  # a living process was hit
        self.killed_rank = None

    # --- the run

    def perform(self):
        scenario = self.scenario
        self.cluster = self.box.make_cluster(scenario.nodes)
        self.node = self.cluster[scenario.node]
        for rank, orders in enumerate(scenario.orders):
            self.box.write(f"orders.{rank}", orders)
            self.records[rank] = after.Record(self.box.path(f"record.{rank}"))
            for attempt in range(1, scenario.restarts + 1):
                self.later[attempt, rank] = after.Record(self.box.path(f"record.{rank}.{attempt}"))
        options = []
        for name, value in {"fence_after": scenarios.FENCE, "lost_after": scenarios.LOST, "connect": scenarios.CONNECT, "stop": 0.5}.items():
            options += ["--set", f"timeouts.{name}={int(value * 1000)}ms"]
        if scenario.restarts:
            options += ["--set", f"restart.max={scenario.restarts}", "--set", "restart.backoff=100ms..200ms",
                        "--set", f"timeouts.node_return={int(scenarios.RETURN * 1000)}ms"]
        self.run = self.box.launch(self.box.rank, self.box.folder, str(scenario.seed), ranks=scenario.ranks, options=options)
        self.wait_for_moment()
        self.strike()
        self.see_it_end()
        self.check()

    def wait_for_moment(self):
        if self.scenario.moment != "connecting":
            self.box.expect_events([f"ready {rank}" for rank in range(len(self.scenario.orders))], PATIENCE)
        if self.scenario.moment == "end":
            self.box.open_gate()
        time.sleep(self.scenario.delay)  # the moment is the subject

    def strike(self):
        getattr(self, self.kind.name.replace(" ", "_"))()

    # --- the faults; one method for each kind

    def power_off(self):
        self.node.power_off()

    def crash(self):
        self.node.crash()

    def cut(self):
        self.node.link_down()

    def cut_in(self):
        self.node.drop("in")

    def cut_out(self):
        self.node.drop("out")

    def cut_shortly(self):
        self.node.link_down()
        time.sleep(self.scenario.length)
        self.node.link_up()

    def cut_launcher(self):
        self.cluster.launcher_link_down()

    def cut_launcher_shortly(self):
        self.cluster.launcher_link_down()
        time.sleep(self.scenario.length)
        self.cluster.launcher_link_up()

    def kill_session(self):
        self.node.kill_sessions()

    def kill_ssh(self):
        for pid in self.launcher():
            if os.path.basename(program_of(pid)) == "ssh":
                self.kill(pid)

    def kill_sshd(self):
        self.node.kill_sshd()

    def hang(self):
        self.node.hang()

    def hang_shortly(self):
        self.node.hang()
        time.sleep(self.scenario.length)
        self.node.go_on()

    def slow(self):
        self.node.slow_link("5mbit")

    def kill_agent(self):
        self.kill(self.box.people(self.node)[1])

    def kill_guardian(self):
        self.kill(self.box.people(self.node)[0])

    def stop_agent(self):
        self.kill(self.box.people(self.node)[1], signal.SIGSTOP)

    def kill_rank(self):
        ranks = {record.read()["pid"]: rank for rank, record in self.records.items()}
        first = (self.scenario.node - 1) * self.scenario.ranks
        for pid in self.box.people(self.node)[2]:
            rank = ranks.get(pid_inside(pid))
            if rank is not None and first <= rank < first + self.scenario.ranks and "session" not in self.scenario.orders[rank]:
                self.killed_rank = rank
                return self.kill(pid)

    def kill_front(self):
        self.kill(self.run.pid)

    def kill_launcher(self):
        for pid in self.launcher():
            self.kill(pid)

    def kill_engine(self):
        for pid in children_of(self.run.pid)[:1]:
            self.kill(pid)

    def interrupt(self):
        self.kill(self.run.pid, signal.SIGINT)

    def terminate(self):
        self.kill(self.run.pid, signal.SIGTERM)

    def kill(self, pid, number=signal.SIGKILL):
        try:
            if pid:
                os.kill(pid, number)
                self.struck = True
        except ProcessLookupError:
            pass

    def launcher(self):
        """Front, engine and their ssh."""
        theirs = {pid for node in self.cluster.nodes for pid in node.processes()} | self.cluster.base()
        return [pid for pid in [self.run.pid, *descendants_of(self.run.pid)] if pid not in theirs]

    # --- its end

    def see_it_end(self):
        if self.kind.name in ("kill front", "kill launcher"):
            wait_gone([self.run.pid], "the front", PATIENCE)
            self.box.reap()
            self.run.code = self.run.code if self.run.code is not None else self.box.exit_code(self.run)
        else:
            if SUCCESS in self.allowed_codes():
                self.box.open_gate()
            if self.scenario.restarts:
                self.see_restarts()
            self.run.end(patience=PATIENCE, left=1000)
        self.expect_nobody_where_it_can_be_reached()
        self.mend()
        self.box.expect_nodes_empty("all nodes, when what had befallen them is over", scenarios.FENCE + 10)

    def see_restarts(self):
        """A lost node returns while the run waits for it, and may then be hit again. A run that needs neither just ends."""
        waits = lambda: self.box.has_ended(self.run) or "waiting up to" in self.run.text  # noqa: E731
        wait_until(waits, "its end, or a wait for a node", PATIENCE, LOOK)
        if self.box.has_ended(self.run) or not self.scenario.returns:
            return
        self.bring_back()
        if self.scenario.again < 0:
            return
        time.sleep(self.scenario.again)  # the moment is the subject
        pid = self.box.people(self.node)[1] if self.node.up else None
        self.struck_again = pid is not None
        self.kill(pid)

    def bring_back(self):
        self.mend()
        if not self.node.up:
            self.node.boot()
            self.node.wait_for_sshd()

    def unreachable(self):
        """Nodes that only they themselves can clean up."""
        if self.kind.name in ("cut launcher", "kill front", "kill launcher", "kill engine"):
            return list(self.cluster.nodes)
        return [self.node] if self.kind.lost or self.kind.name in ("kill session", "kill ssh", "kill sshd") else []

    def expect_nobody_where_it_can_be_reached(self):
        """At dlaunch's end nothing is left on the nodes that it could reach; on the others it is gone within the time of fencing."""
        if self.scenario.moment == "connecting":
            return  # shells of abandoned connections need a moment; after mend() the same check runs again
        away = [node.name for node in self.unreachable()]
        left = {name: pids for name, pids in self.cluster.left(sessions=False).items() if name not in away}
        expect(not left, f"left at dlaunch's end: {left}\n{process_table()}\n{self.run.report()}")
        for node in self.unreachable():
            if node.up and self.kind.name != "hang":
                wait_until(lambda: not node.processes(sessions=False), f"{node.name} has fenced itself", scenarios.FENCE + 8, LOOK)  # noqa: B023

    def mend(self):
        if self.kind.name in ("cut in", "cut out") and self.node.up:
            self.node.drop_nothing()
        self.cluster.launcher_link_up()
        self.node.link_up()
        if self.kind.name == "hang":
            self.node.go_on()
        for node in self.cluster.nodes:
            if node.up and node in self.unreachable():
                node.kill_sessions()  # those of a cut connection never learn of its end

    def allowed_codes(self):
        codes = set(self.kind.codes)
        if self.scenario.restarts and KILLED in codes:
            codes.add(SUCCESS)
        if self.scenario.returns and NODE_LOST in codes and (self.scenario.moment != "connecting" or self.run.text.count("waiting up to")):
            codes = (codes | {SUCCESS}) if self.struck_again or self.scenario.moment == "end" else (codes - {NODE_LOST}) | {SUCCESS}
        if self.scenario.moment == "connecting":
            codes |= set(self.kind.early)
            # No process was hit, or the run continued until the ranks were.
            if self.kind.name.startswith(("kill", "stop")) and not self.struck:
                codes.add(SUCCESS)
        if self.kind.name in ("kill rank", "kill agent", "kill guardian", "stop agent") and not self.struck:
            codes.add(SUCCESS)
        if self.scenario.moment == "end":
            codes.add(SUCCESS)
        return codes

    # --- what must hold

    def check(self):
        run, codes = self.run, self.allowed_codes()
        after.check_words(run)
        if self.kind.codes:
            expect(run.code in codes, f"exit code {run.code}, none of {sorted(codes)}\n{run.report()}")
        if run.code == NODE_LOST:
            names = [node.name for node in (self.cluster.nodes if self.kind.name == "cut launcher" else [self.node])]
            expect(any(name in run.text for name in names), f"{' and '.join(names)} not named\n{run.report()}")
        if run.code == KILLED and self.killed_rank is not None:
            expect_in(f"rank {self.killed_rank}", run.text, "who was killed")
        if run.code >= 0 and self.kind.name != "kill engine" and self.box.runs():
            after.check_summary(self.box, run.code)
        for rank, record in self.records.items():
            complete = run.code == SUCCESS and "attempt 0: " not in run.text
            after.check_output(self.box, rank, record.read(), self.may_lack(rank), complete)
        last = self.box.json("summary.json")["attempt"] if run.code == SUCCESS else 0
        if run.code == SUCCESS and last == 0:
            after.check_console(self.box, run, len(self.records))
        for (attempt, rank), record in self.later.items():
            complete = run.code == SUCCESS and attempt == last
            after.check_output(self.box, rank, record.read(), {"out": 0, "err": 0} if complete else self.may_lack(rank), complete, attempt)

    def may_lack(self, rank):
        """No byte of a rank whose agent and launcher survived may be missing; of the others everything may be."""
        node = rank // self.scenario.ranks + 1
        everything = {"out": 1 << 40, "err": 1 << 40}
        if self.kind.name in ("kill front", "kill launcher", "kill engine", "cut launcher"):
            return everything
        if node == self.scenario.node and (self.kind.lost or self.run.code == NODE_LOST):
            return everything
        return {"out": 0, "err": 0}

    def story(self):
        return f"{self.scenario.describe()}; exit code {self.run.code if self.run else None}"


def pid_inside(pid):
    """Its number in its own PID namespace."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return next(int(line.split()[-1]) for line in file if line.startswith("NSpid:"))
    except (OSError, StopIteration):
        return None


def main():
    seed, folder, result, dlaunch, rank_program = sys.argv[1:6]
    box = ClusterSandbox(folder, dlaunch, rank_program, True)
    chaos = NodesChaos(box, scenarios.make(int(seed)))
    after.perform(chaos, result)
    box.close()
    os._exit(0)


if __name__ == "__main__":
    main()
