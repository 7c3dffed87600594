"""What `dlaunch up` promises beside its connections: nothing listens, the list shows how the nodes are, another build takes over."""

import os
import re
import subprocess

from case import case
from cases_info import NVIDIA_SMI, made
from cases_kept import down, kept, keepers, listed, make_cluster, up
from expectations import expect, expect_equal, expect_in
from processes import wait_gone, wait_until


@case
def nothing_listens_on_the_network(box):
    """Neither while the keeper is idle, nor while a run uses its nodes."""
    with kept(box, 2):
        idle = box.cluster.watch()
        wait_until(lambda: idle.rounds > 5, "some looks while it is idle", 10, 0.01)
        idle.stop()
        run = box.launch(box.rank, "tell", "ready", "gate")
        box.expect_all("ready", 2)
        used = box.cluster.watch()
        wait_until(lambda: used.rounds > 5, "some looks while a run uses it", 10, 0.01)
        used.stop()
        box.open_gate()
        run.end(0, left=1000)
        expect_in("uses 2 kept nodes", run.text, "what it says")
        for watch, when in ((idle, "while the keeper is idle"), (used, "while a run uses the nodes")):
            ours = [one for one in watch.listeners if os.path.basename(one.program) == "dlaunch"]
            expect(any(one.command == "dlaunch: keeper" for one in ours), f"the keeper is seen {when}: {[str(one) for one in ours]}")
            for one in ours:
                expect(one.kind == "unix", f"listens {when}: {one}")


# A node with the GPUs of tests/data/fabric: device files and a kernel log of its own beside everything else in /dev.
WITH_GPUS = """set -e
mkdir /run/dev /run/bin
for file in /dev/*; do
  own=/run/dev/${file##*/}
  if [ -L "$file" ]; then cp -a "$file" "$own"
  elif [ -d "$file" ]; then mkdir "$own"; mount --rbind "$file" "$own"
  elif [ "$file" != /dev/kmsg ]; then touch "$own"; mount --bind "$file" "$own"
  fi
done
cp -r SHAPE/dev/. /run/dev/
echo '4,1234,1,-;NVRM: Xid (PCI:0000:1b:00): 79, pid=4711, GPU has fallen off the bus.' > /run/dev/kmsg
mount --rbind /run/dev /dev
mount --bind SHAPE/proc/driver /proc/driver
"""


@case
def the_list_shows_what_is_wrong_with_a_node(box):
    """From nvidia-smi and from the kernel's log; its load is that of now."""
    shape = made(box, "four-rails")
    make_cluster(box, 2)
    bad = box.cluster[2]
    bad.sh(WITH_GPUS.replace("SHAPE", shape))
    with open(bad.path("/run/bin/nvidia-smi"), "w", encoding="utf-8") as file:
        file.write(NVIDIA_SMI.replace("$CASE/asked", "/run/asked"))
    os.chmod(bad.path("/run/bin/nvidia-smi"), 0o755)
    bad.set_rc("export PATH=/run/bin:$PATH\n")
    up(box)
    rows = listed(box)
    expect_equal(rows["node1"]["findings"], [], "the other node")
    findings = " ".join(rows["node2"]["findings"])
    for words in ("GPU 1: a memory repair waits for a reset of the GPU", "GPU 2: slowed down by heat", "Xid 79 on 0000:1b:00"):
        expect_in(words, findings, "what is found")
    expect(rows["node2"]["load"] > 0, f"load: {rows}")
    lines = {line.split()[0]: line for line in box.start("up", "--list").end(0, left=1000).out.decode().splitlines()}
    expect(lines["node1"].rstrip().endswith(" ok"), f"the column of node1: {lines}")
    expect_in("GPU 1: a memory repair waits", lines["node2"], "the column")
    down(box)


BUILD_ID = re.compile(r"\b[0-9a-f]{40}\b")


def another_build(box):
    """A copy of dlaunch whose only difference is the build id in its ELF note."""
    with open(box.dlaunch, "rb") as file:
        program = file.read()
    notes = subprocess.run(["readelf", "-n", box.dlaunch], capture_output=True, text=True, check=True).stdout
    own = bytes.fromhex(BUILD_ID.search(notes).group())
    expect_equal(program.count(b"GNU\0" + own), 1, "the note")
    path = box.path("other/dlaunch")
    box.write("other/dlaunch", program.replace(b"GNU\0" + own, b"GNU\0" + bytes(255 - byte for byte in own)), 0o755)
    return path


@case
def up_and_down_of_another_build(box):
    """A second `up` by a newer program replaces the keeper and its agents; its `down` ends those of another build, too."""
    other = another_build(box)
    make_cluster(box, 1)
    up(box)
    old, (_, agent, _) = keepers(box), box.people(box.cluster[1])
    words = ["--set", "hosts=[node1]", "--set", f"connect.ssh={box.cluster.ssh}"]
    box.start("up", *words, program=other).end(0, left=1000)
    wait_gone([*old, agent], "the keeper and the agent of the old build")
    new = keepers(box)
    expect_equal(len(new), 1, "keepers")
    down(box)
    wait_gone(new, "the keeper of the other build")
    box.expect_nodes_empty("and its agents")
