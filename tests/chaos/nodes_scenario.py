"""What one chaos run over nodes does: exactly what is drawn from its seed."""

import random
from dataclasses import dataclass

from scenario import make_orders, short_delay

FENCE, LOST, CONNECT = 3.0, 7.0, 15.0  # seconds: timeouts.fence_after, lost_after, connect
RETURN = 8.0  # timeouts.node_return
# With a heartbeat each second and the pauses of TCP after lost packets, which double, the silence may last three times as long as a cut.
MOST_SHORT = 0.7
SUCCESS, NODE_LOST, INTERNAL, KILLED, INTERRUPTED, TERMINATED = 0, 69, 70, 137, 130, 143


@dataclass(frozen=True)
class Kind:
    """One kind of fault. `codes`: dlaunch's possible exit codes if it happens while ranks run; `early`: the same while nodes are still
    being connected, if different; `lost`: the node is lost, and perhaps the last output of its ranks."""
    name: str
    odds: int
    codes: tuple
    early: tuple = ()
    lost: bool = False


KINDS = [
    Kind("power off", 8, (NODE_LOST,), lost=True),
    Kind("crash", 5, (NODE_LOST,), lost=True),
    Kind("cut", 8, (NODE_LOST,), lost=True),
    Kind("cut in", 4, (NODE_LOST,), lost=True),
    Kind("cut out", 4, (NODE_LOST,), lost=True),
    Kind("cut shortly", 10, (SUCCESS,)),
    Kind("cut launcher", 4, (NODE_LOST,), lost=True),
    Kind("cut launcher shortly", 6, (SUCCESS,)),
    # Before there is an agent, a lost connection is reported like any other failed one.
    Kind("kill session", 12, (SUCCESS,), early=(SUCCESS, NODE_LOST)),
    Kind("kill ssh", 8, (SUCCESS,), early=(SUCCESS, NODE_LOST)),
    Kind("kill sshd", 4, (SUCCESS,), early=(SUCCESS, NODE_LOST)),
    Kind("hang", 5, (NODE_LOST,), lost=True),
    Kind("hang shortly", 5, (SUCCESS,)),
    Kind("slow", 4, (SUCCESS,), early=(SUCCESS, NODE_LOST)),
    Kind("kill agent", 8, (NODE_LOST,), lost=True),
    Kind("kill guardian", 6, (NODE_LOST,), lost=True),
    Kind("stop agent", 4, (NODE_LOST,), lost=True),
    Kind("kill rank", 6, (KILLED,)),
    Kind("kill front", 5, ()),
    Kind("kill launcher", 5, ()),
    Kind("kill engine", 4, (INTERNAL,)),
    Kind("interrupt", 4, (INTERRUPTED,)),
    Kind("terminate", 4, (TERMINATED,)),
]
# "connecting": dlaunch has been started; "ready": all ranks are up; "end": they have been told to end.
MOMENTS = {"connecting": 20, "ready": 60, "end": 20}


@dataclass
class NodesScenario:
    seed: int
    nodes: int
    ranks: int  # on each
    orders: list  # per rank, see rank.c
    moment: str
    delay: float  # seconds after the moment
    kind: Kind
    node: int  # the node that it hits, from 1
    length: float  # seconds, for temporary faults
    restarts: int = 0  # restart.max
    returns: bool = False  # the lost node is brought back while the run waits for it
    again: float = -1.0  # seconds after that the agent of a node is killed; negative: nothing more happens

    def describe(self):
        whom = "" if "launcher" in self.kind.name or not self.kind.codes or self.kind.name in ("interrupt", "terminate", "kill engine") \
            else f" node{self.node}"
        return f"{self.nodes} nodes x {self.ranks}, {1000 * self.delay:.0f} ms after {self.moment}: {self.kind.name}{whom}" + self.describe_restarts()

    def describe_restarts(self):
        if not self.restarts:
            return ""
        text = f"; restart.max {self.restarts}, " + ("it returns" if self.returns else "it does not return")
        return text + (f", {1000 * self.again:.0f} ms after that an agent is killed" if self.again >= 0 else "")


def make(seed):
    rng = random.Random(seed)
    nodes, ranks = rng.randint(2, 4), rng.randint(1, 2)
    orders = [make_orders(rng) for _ in range(nodes * ranks)]
    moment = rng.choices(list(MOMENTS), list(MOMENTS.values()))[0]
    delay = rng.uniform(0.0, 1.5) if moment == "connecting" else short_delay(rng)
    kind = rng.choices(KINDS, [kind.odds for kind in KINDS])[0]
    node, length = rng.randint(1, nodes), rng.uniform(0.05, MOST_SHORT)
    restarts = rng.choice([0, 0, 1, 2])  # drawn last, so that older seeds keep their meaning
    returns = restarts > 0 and rng.random() < 0.75
    again = rng.uniform(0.0, 2.0) if returns and kind.lost and rng.random() < 0.5 else -1.0
    return NodesScenario(seed, nodes, ranks, orders, moment, delay, kind, node, length, restarts, returns, again)
