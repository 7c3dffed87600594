"""perform.py SEED FOLDER RESULT DLAUNCH RANK_PROGRAM: one chaos run in this process, which run.py has made the
init process of a PID namespace; writes the outcome as JSON to RESULT."""

import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "process"))
import expectations_of_chaos as after  # noqa: E402
import scenario as scenarios  # noqa: E402
from expectations import expect, expect_in  # noqa: E402
from processes import all_processes, descendants_of, is_alive, program_of, wait_gone, wait_until  # noqa: E402
from sandbox import Sandbox  # noqa: E402
from victims import Victim, look_around  # noqa: E402

PATIENCE = 50.0  # seconds until a run must have ended; the longest wait in dlaunch itself is 30 s, for an agent to connect
SUCCESS, NODE_LOST, INTERNAL, KILLED, TERMINATED = 0, 69, 70, 137, 143


class ChaosRun:
    def __init__(self, box, scenario):
        self.box, self.scenario = box, scenario
        self.records = {}
        self.hits = []  # (fault, victim) of those that hit a living process
        self.cancelled = False
        self.gate_open = False
        self.lost_records = {}  # what had been written when the agent was hit
        self.agents = []  # at the moment of the first fault
        self.run = None

    # --- the run

    def perform(self):
        self.prepare()
        words = ["run", "-n", str(len(self.scenario.orders))]
        for setting in ("timeouts.stop=500ms", f"timeouts.fence_after={self.scenario.fence_after}",
                        *self.scenario.sets):
            words += ["--set", setting]
        console = self.open_console()
        self.run = self.box.start(*words, "--", self.box.rank, self.box.folder, str(self.scenario.seed), stdout=console,
                                  env={"TMPDIR": self.box.make_folder("tmp")})
        if console is not None:
            os.close(console)
        self.wait_for_moment()
        self.strike()
        self.see_it_end()
        self.check()

    def prepare(self):
        for rank, orders in enumerate(self.scenario.orders):
            self.box.write(f"orders.{rank}", orders)
            self.records[rank] = after.Record(self.box.path(f"record.{rank}"))

    def open_console(self):
        if self.scenario.console == "file":
            return None
        read, write = os.pipe()
        if self.scenario.console == "gone":
            os.close(read)
        return write

    def wait_for_moment(self):
        moment, ranks = self.scenario.moment, len(self.scenario.orders)
        if moment in ("start", "born"):
            # Before it executes dlaunch it is a copy of this process.
            wait_until(lambda: program_of(self.run.pid) in (self.box.dlaunch, ""), "dlaunch is executed")
        if moment == "born":
            wait_until(lambda: self.scenario.born in self.look_around().by_role or not is_alive(self.run.pid),
                       f"a first {self.scenario.born}")
        elif moment == "first":
            while not (self.box.next_event() or "").startswith("ready"):
                pass
        elif moment not in ("start", "born"):
            self.box.expect_all("ready", ranks)
        if moment == "end":
            self.open_gate()
        elif moment == "stopping":
            self.run.signal(signal.SIGTERM)
            self.cancelled = True
        # The moment itself is the subject here, nothing is waited for.
        time.sleep(self.scenario.delay)

    def strike(self):
        people = self.look_around()
        self.agents = people.by_role.get("agent", [])
        for fault in self.scenario.faults:
            time.sleep(fault.delay)
            victim = self.choose(fault, people)
            if victim is None:
                continue
            if victim.role in ("agent", "guardian") and not self.lost_records:
                self.lost_records = {rank: record.read() for rank, record in self.records.items()}
            if victim.signal(signal.SIGKILL if fault.act == "kill" else signal.SIGSTOP):
                self.hits.append((fault, victim))
        for fault, victim in self.hits:
            if fault.act == "pause":
                time.sleep(fault.pause)
                victim.signal(signal.SIGCONT)

    def look_around(self):
        ranks = {record.read()["pid"]: rank for rank, record in self.records.items()}
        ranks.pop(0, None)
        split = [rank for rank, orders in enumerate(self.scenario.orders) if "session" in orders]
        return look_around(self.run.pid, ranks, self.box.dlaunch, split, self.scenario.moment not in ("start", "born", "first"))

    def choose(self, fault, people):
        taken = {victim.pid for _, victim in self.hits}
        for role in fault.roles:
            candidates = [pid for pid in people.by_role.get(role, []) if pid not in taken]
            if candidates:
                pid = candidates[self.scenario.seed % len(candidates)]
                return Victim(role, pid, people.rank_of.get(pid))
        return None

    def open_gate(self):
        self.box.open_gate()
        self.gate_open = True

    # --- its end

    def roles(self, act):
        return {victim.role for fault, victim in self.hits if fault.act == act}

    def forget_those_that_were_no_rank(self):
        """A child of the agent that had not yet executed a rank's program may be another one: the agent uses one to test
        whether it can start children in a cgroup. Then all ranks have reported who they are, and the run goes on."""
        unknown = [hit for hit in self.hits if hit[0].act == "kill" and hit[1].role == "rank" and hit[1].rank is None]
        if not unknown or "engine" in self.roles("stop"):
            return

        def all_are_up():
            return all(record.read()["pid"] not in (0, *(victim.pid for _, victim in unknown)) for record in self.records.values())

        wait_until(lambda: all_are_up() or not any(is_alive(pid) for pid in self.agents), "a rank was killed, or all are up")
        if all_are_up():
            self.hits = [hit for hit in self.hits if hit not in unknown]

    def see_it_end(self):
        self.forget_those_that_were_no_rank()
        killed, stopped = self.roles("kill"), self.roles("stop")
        deadly = killed & {"front", "engine", "guardian", "agent", "rank"} or "agent" in stopped
        if stopped & {"engine", "rank"} and not deadly:
            self.end_by_force()
        elif "engine" in stopped and "front" not in killed:
            self.end_by_force()
        elif not deadly:
            self.open_gate()
        if "front" in stopped and "front" not in self.roles("kill"):
            self.wake_front_when_alone()
        if "front" in self.roles("kill"):
            wait_gone([self.run.pid], "the front")
            self.box.reap()
            self.run.code = -signal.SIGKILL
            self.box.expect_nobody("after the front was killed", PATIENCE)
        else:
            self.run.end(patience=PATIENCE)

    def end_by_force(self):
        """The engine or a rank stays stopped, which by itself ends nothing."""
        if "engine" in self.roles("stop") and self.scenario.last_resort == "KILL":
            front = Victim("front", self.run.pid)
            if front.signal(signal.SIGKILL):
                self.hits.append((scenarios.Fault(["front"], "kill", 0.0), front))
        else:
            self.cancelled = True
            self.run.signal(signal.SIGTERM)

    def wake_front_when_alone(self):
        """A stopped front delays only itself: all others end before it."""
        mine = set(all_processes() if self.box.namespaced else descendants_of(os.getpid()))
        wait_gone(sorted(mine - {os.getpid(), self.run.pid}), "with the front stopped", PATIENCE)
        os.kill(self.run.pid, signal.SIGCONT)

    # --- what must hold

    def allowed_codes(self):
        killed, stopped = self.roles("kill"), self.roles("stop")
        codes = set()
        if killed & {"guardian", "agent"} or "agent" in stopped:
            codes.add(NODE_LOST)
        if any(fault.act == "stop" and victim.role == "rank" and victim.rank is None for fault, victim in self.hits):
            codes.add(NODE_LOST)  # until it has executed its program, the agent waits for it (vfork)
        if "guardian" in stopped and self.scenario.moment in ("start", "born"):
            codes |= {NODE_LOST, SUCCESS}  # stopped before it had an agent: no answer in time
        if "rank" in killed:
            codes.add(KILLED)
        if self.cancelled:
            codes.add(TERMINATED)
        if self.scenario.moment == "end" or not codes:  # the ranks may have ended before
            codes.add(SUCCESS)
        if "engine" in killed:
            # An earlier fault, or the end itself, may have been faster.
            first = self.hits[0][1].role == "engine" and self.scenario.moment not in ("end", "stopping")
            codes = {INTERNAL} if first else codes | {INTERNAL}
        return codes

    def check(self):
        run, killed = self.run, self.roles("kill")
        after.check_words(run)
        if "front" not in killed:
            codes = self.allowed_codes()
            expect(run.code in codes, f"exit code {run.code}, none of {sorted(codes)}\n{run.report()}")
            self.check_who_was_first()
            if "engine" not in killed and run.code != INTERNAL and self.has_run_folder():
                after.check_summary(self.box, run.code)
        for rank, record in self.records.items():
            after.check_output(self.box, rank, record.read(), self.may_lack(rank), run.code == SUCCESS)
        shown = self.scenario.console == "file" and not {"logs.prefix=never", "logs.console=none"} & set(self.scenario.sets)
        if run.code == SUCCESS and shown:
            after.check_console(self.box, run, len(self.records))
        after.check_leftover_files(self.box, "engine" not in killed)

    def check_who_was_first(self):
        ranks = [victim.rank for fault, victim in self.hits if fault.act == "kill" and victim.role == "rank"]
        # One thread writes both streams so far: a stalled stdout delays the summary on stderr.
        if self.run.code == KILLED and None not in ranks:
            names = " or ".join(f"rank {rank}" for rank in ranks)
            expect(any(f"rank {rank}" in self.run.text for rank in ranks), f"{names} is not named\n{self.run.report()}")
            expect_in("SIGKILL", self.run.text, "how it ended")

    def has_run_folder(self):
        return self.box.exists("runs") and bool(self.box.runs())

    def may_lack(self, rank):
        """Bytes are lost only with the agent: those in the pipe, and those written to it after the kill."""
        agent_died = "agent" in self.roles("kill") or "agent" in self.roles("stop") or self.run.code == NODE_LOST
        if not agent_died:
            return {"out": 0, "err": 0}
        now, then = self.records[rank].read(), self.lost_records.get(rank)
        return {stream: after.LOST_WITH_AGENT + (now[stream] - then[stream] if then else now[stream])
                for stream in ("out", "err")}

    def story(self):
        hits = ", ".join(f"{fault.act} {victim.role}" + (f" {victim.rank}" if victim.rank is not None else "")
                         for fault, victim in self.hits) or "no process was there"
        code = self.run.code if self.run else None
        return f"{self.scenario.describe()} -> {hits}; exit code {code}"


def main():
    seed, folder, result, dlaunch, rank_program = sys.argv[1:6]
    box = Sandbox(folder, dlaunch, rank_program, os.getpid() == 1)
    chaos = ChaosRun(box, scenarios.make(int(seed)))
    after.perform(chaos, result)
    box.close()
    if not box.namespaced:
        for pid in descendants_of(os.getpid()):
            os.kill(pid, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
