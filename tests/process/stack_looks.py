"""The common part of sandboxes whose cases run `dlaunch stacks`."""

import json
import os
import shutil

from expectations import Skip, expect
from processes import wait_until

PY_SPY = [os.path.expanduser("~/.cache/dlaunch-test/py-spy/bin"), "/usr/local/bin", "/usr/bin"]


class StackLooks:
    def py_spy(self):
        """A folder with a copy of py-spy; Skip if there is none."""
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
        """Asks until holds(stacks) is true, because a rank says that it is ready a moment before it is where it will stay."""
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
