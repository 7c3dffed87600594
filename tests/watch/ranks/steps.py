"""steps.py PAUSE [RANK SECONDS]: steps of 20 ms of work and a pause, which for one rank is another; each step is printed, and with
$BEATS a heartbeat."""

import os
import pathlib
import sys
import time

pause = float(sys.argv[3] if sys.argv[2:3] == [os.environ["RANK"]] else sys.argv[1])
step = 0
while True:
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    time.sleep(pause)
    step += 1
    print(f"step {step}", flush=True)
    if "BEATS" in os.environ:
        pathlib.Path(os.environ["DLAUNCH_HEARTBEAT_FILE"]).touch()
