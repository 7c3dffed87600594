"""Config files of accelerate: dlaunch sets the same variables as accelerate launch, according to accelerate's own functions."""

import os
import subprocess

from accelerate_launch import SKIPPED
from case import case
from expectations import Skip, expect_equal

HERE = os.path.dirname(os.path.abspath(__file__))


@case(budget=240)
def accelerate_launch_sets_the_same_variables(box):
    done = subprocess.run([os.path.join(HERE, "accelerate_launch.py"), "--dlaunch", box.dlaunch], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=200)
    if done.returncode == SKIPPED:
        raise Skip(done.stdout.strip().removeprefix("skipped: "))
    expect_equal(done.returncode, 0, f"exit code\n{done.stdout}{done.stderr}")
