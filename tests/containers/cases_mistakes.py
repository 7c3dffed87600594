"""Impossible requests, and their error messages."""

import os

from case import case
from expectations import expect, expect_equal, expect_in

JOB_FILE = 65
PREFLIGHT = 75
CANNOT = 126


@case
def unknown_image_is_told_once(box):
    box.podman_image()
    run = box.start("run", "-n", "4", "--set", "framework=none", "--set", "container.runtime=podman", "--set",
                    "container.image=localhost/no-such-image:1", "--", "true").end(CANNOT, patience=60)
    text = box.error_of(run)
    expect_in("the container could not start: ", text, "report")
    expect_in("no-such-image", text, "the runtime's words")
    expect_equal(text.count("the container could not start"), 1, f"times that it is said in: {text}")
    box.expect_no_container()


@case
def missing_folder_as_image(box):
    box.needs("ch-run", "charliecloud")
    run = box.start("run", "-n", "2", "--set", "framework=none", "--set", "container.runtime=charliecloud", "--set",
                    "container.image=./no-such-image", "--", "true").end(CANNOT)
    text = box.error_of(run)
    expect_in("no-such-image", text, "the runtime's words")
    expect_equal(text.count("the container could not start"), 1, f"times that it is said in: {text}")


@case
def no_runtime(box):
    box.write("empty/true", "#!/bin/sh\n", mode=0o755)
    run = box.start("run", "--set", "container.image=a", "--", "true", env={"PATH": box.path("empty")}).end(PREFLIGHT)
    expect_in("no container runtime: ", box.error_of(run), "error")
    run = box.start("run", "--set", "container.image=a", "--no-container", "--", "true", env={"PATH": box.path("empty")}).end(0)


@case(alone=True)
def runtime_missing_on_one_node(box):
    image = box.charliecloud()
    box.make_cluster(2)
    box.cluster[2].sh("mount --bind /dev/null $(command -v ch-run)")
    run = box.launch("true", options=image).end(PREFLIGHT)
    text = box.error_of(run)
    expect_in("there is no ch-run in PATH on node2", text, "error")


@case
def bad_mount_has_a_place(box):
    box.write("job.yaml", "command: [true]\ncontainer:\n  image: a\n  mounts:\n    - /data:/data:ro\n    - /data:data\n")
    run = box.run("run", code=JOB_FILE)
    expect_in('job.yaml:6:7: error: container.mounts[1]: the path in the container must be absolute, not "data"', box.error_of(run), "error")


@case
def mount_of_a_folder_that_is_not_there(box):
    run = box.ranks_in(box.podman(), 2, "true", options=["--set", f"container.mounts=[{box.path('nowhere')}:/mnt]"]).end(CANNOT)
    expect_in("nowhere", box.error_of(run), "the runtime's words")
    box.expect_no_container()


@case
def shared_memory(box):
    """Ranks get the node's /dev/shm if it is large enough, a single rank gets its own, and anything else is an error."""
    script = "df -m /dev/shm | tail -n 1 | tr -s ' ' | cut -d ' ' -f 2"
    run = box.start("plan", "--set", "framework=none", "--set", "container.shm_size=64t", *box.podman(), "-n", "2", "--", "true").end(PREFLIGHT)
    expect_in("less than container.shm_size", box.error_of(run), "error")
    size = os.statvfs("/dev/shm")
    megabytes = size.f_blocks * size.f_frsize // (1 << 20) + 64
    box.ranks_in(box.podman(), 1, "sh", "-c", script, options=["--set", f"container.shm_size={megabytes}m"]).end(0)
    expect_equal(box.rank_output(0), b"%d\n" % megabytes, "size of /dev/shm")


@case
def plan_shows_the_runtimes_line(box):
    run = box.start("plan", "--set", "framework=none", "--set", "env_secret=[TOKEN]", *box.podman(), "-n", "2", "--", "true",
                    env={"TOKEN": "s3cr3t-v4lue"}).end(0)
    text = run.out.decode()
    expect_in("--network=host", text, "plan")
    expect_in("by podman", text, "plan")
    expect("s3cr3t-v4lue" not in text, text)


@case
def a_role_with_an_image_of_its_own(box):
    plain = box.folder_image()
    python = box.folder_image("python")
    box.needs("ch-run", "charliecloud")
    box.write("job.yaml", f"""framework: tensorflow
command: sh -c 'ls /usr/lib | grep -c python || true'
container: {{image: {python}, runtime: charliecloud}}
roles:
  worker: 1
  ps: {{count: 1, container: {{image: {plain}, runtime: charliecloud}}}}
success: all
""")
    box.run("run", code=0)
    expect_equal(box.rank_output(0), b"1\n", "worker")
    expect_equal(box.rank_output(1), b"0\n", "server")
