"""What sandboxes whose cases ask `dlaunch stacks` have in common."""

import json
import os
import shutil

from expectations import Skip, expect
from processes import wait_until

PY_SPY = [os.path.expanduser("~/.cache/dlaunch-test/py-spy/bin"), "/usr/local/bin", "/usr/bin"]


class StackLooks:
    def py_spy(self):
        """The folder of py-spy, beside which the lab looks; Skip without one."""
        found = shutil.which("py-spy", path=os.pathsep.join(PY_SPY))
        if not found:
            raise Skip("missing: py-spy (tests/frameworks/setup.sh py-spy)")
        # A copy: the home of the user who runs the tests is closed to others.
        folder = self.make_folder("py-spy")
        shutil.copy(found, folder)
        os.chmod(os.path.join(folder, "py-spy"), 0o755)
        return folder

    def stacks(self, *words, code=0, py_spy=None, **more):
        environment = {"PATH": self.environment["PATH"] + (":" + py_spy if py_spy else "")}
        return self.start("stacks", *words, env=environment, **more).end(code, left=1000)

    def stacks_json(self, *words, **more):
        return json.loads(self.stacks("--json", *words, **more).out)

    def until_stacks(self, holds, *words, **more):
        """A rank says that it is ready a moment before it stands where it will stay."""
        last = []

        def look():
            last[:] = [self.stacks_json(*words, **more)]
            return holds(last[0])
        try:
            wait_until(look, "the stacks", 30, 0.2)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{json.dumps(last, indent=1)}") from None
        return last[0]


def main_thread(rank, process=0):
    expect(len(rank["processes"]) > process, f"processes: {rank}")
    return rank["processes"][process]["threads"][0]


def functions(thread, kind="python"):
    return [frame["function"] for frame in thread["frames"] if frame["kind"] == kind]
