"""What one chaos run does: exactly what is drawn from its seed."""

import random
from dataclasses import dataclass, field

ROLES = ("front", "engine", "guardian", "agent", "rank", "daemon")
# "start": dlaunch has been executed; "born": `born` exists; "first": one rank is up; "ready": all are; "end": the
# ranks have been told to end; "stopping": the launcher has been told to stop.
MOMENTS = {"start": 15, "born": 25, "first": 10, "ready": 20, "end": 20, "stopping": 10}


@dataclass
class Fault:
    roles: list  # the first of these that exists is the victim
    act: str  # kill, stop (for good), pause (stop, and continue after `pause` seconds)
    delay: float  # seconds after the previous one
    pause: float = 0.0


@dataclass
class Scenario:
    seed: int
    orders: list  # per rank, see rank.c
    moment: str
    delay: float  # seconds after the moment
    faults: list
    fence_after: str
    born: str
    last_resort: str  # what ends a run whose engine stays stopped: "TERM" or "KILL", to the front
    sets: list = field(default_factory=list)
    console: str = "file"  # or "stalled": a pipe without reads, "gone": one whose reader has exited

    def describe(self):
        faults = ", ".join(f"{fault.act} {fault.roles[0]}" + (f" (after {1000 * fault.delay:.1f} ms more)" if i else "")
                           for i, fault in enumerate(self.faults))
        console = "" if self.console == "file" else f" with the console {self.console}"
        return f"{len(self.orders)} ranks{console}, {1000 * self.delay:.1f} ms after {self.moment}" \
            + (f" of {self.born}" if self.moment == "born" else "") + f": {faults}"


def short_delay(rng, most=0.1):
    """Mostly within a few milliseconds, where the races are."""
    return min(most, 10 ** rng.uniform(-4.0, -0.9)) if rng.random() < 0.85 else 0.0


def make_orders(rng):
    words = [word for word, odds in (("deaf", 0.3), ("child", 0.5), ("daemon", 0.5), ("daemon", 0.2), ("clinging", 0.3),
                                     ("session", 0.15)) if rng.random() < odds]
    before = f"lines {rng.choice([0, 10, 300, 5000])} 0" if rng.random() < 0.5 else ""
    middle = rng.choice(["gate", f"work {rng.choice([100, 500, 3000])}", f"work {rng.choice([100, 1000])}"])
    after = f"lines {rng.choice([1, 50, 2000])} {rng.choice([0, 0, 100])}" if rng.random() < 0.5 else ""
    return " ".join(part for part in [*words, before, "ready", middle, after] if part)


def make_fault(rng, delay):
    roles = list(ROLES)
    rng.shuffle(roles)
    return Fault(roles, rng.choices(["kill", "pause", "stop"], [60, 22, 18])[0], delay, rng.uniform(0.0, 0.4))


def make(seed):
    rng = random.Random(seed)
    orders = [make_orders(rng) for _ in range(rng.randint(1, 8))]
    moment = rng.choices(list(MOMENTS), list(MOMENTS.values()))[0]
    delay = min(0.25, 10 ** rng.uniform(-3.5, -0.7)) if moment == "start" else short_delay(rng)
    faults = [make_fault(rng, 0.0)]
    if rng.random() < 0.35:
        second = make_fault(rng, 0.0 if rng.random() < 0.5 else short_delay(rng, 0.05))
        second.roles.remove(faults[0].roles[0])
        second.act = rng.choice(["kill", "kill", "pause"])  # at most one stays stopped
        faults.append(second)
    # A stopped agent is given up after this and two heartbeats; a pause must be well below it.
    stays = any(fault.act == "stop" for fault in faults)
    sets = rng.choice([[], [], ["stdin=rank0"], ["logs.console=none"], ["logs.prefix=never"]])
    return Scenario(seed, orders, moment, delay, faults, "100ms" if stays else "10s",
                    rng.choice(ROLES[1:5]), rng.choice(["TERM", "KILL"]), list(sets),
                    rng.choices(["file", "stalled", "gone"], [88, 6, 6])[0])
