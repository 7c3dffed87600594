"""examples/ai-platform-images: an unchanged job file of AI Platform Training, with one image for the master and another for the workers."""

import os
import shutil

import root_filesystem
from case import case
from expectations import expect, expect_equal, expect_in

EXAMPLE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples", "ai-platform-images")
# The images, by the names that they have in the job file.
IMAGES = {"master": "localhost/linear-fit-master:1", "worker": "localhost/linear-fit-worker:1"}


def root_of(box, part):
    """The image of the example's Dockerfile, with this machine's Python."""
    def build(path):
        root_filesystem.make(path, *root_filesystem.python())
        os.makedirs(os.path.join(path, "app"))
        shutil.copy(os.path.join(EXAMPLE, f"{part}.py"), os.path.join(path, "app"))
    return root_filesystem.once(box.shared, f"image-linear-fit-{part}", build)


def expect_fitted(box, run):
    run.end(0, patience=120)
    expect_in("master: 3.0 x + 1.0 by 2 workers; /app has ['master.py']\n", box.rank_output(0).decode(), "the master")
    for rank in (1, 2):
        expect_equal(box.rank_output(rank).decode(), f"worker {rank - 1}: 40 steps; /app has ['worker.py']\n", f"rank {rank}")
    expect("error" not in run.text, run.text)


@case(budget=400)  # two images and three containers are written; 6 s on an idle machine
def podman_ai_platform_images(box):
    for part, name in IMAGES.items():
        box.import_image(root_of(box, part), name)
    expect_fitted(box, box.start("run", os.path.join(EXAMPLE, "config.yaml")))
    box.expect_no_container()


@case(alone=True, budget=180)
def charliecloud_ai_platform_images_on_two_nodes(box):
    box.needs("ch-run", "charliecloud")
    images = [word for role, part in (("chief", "master"), ("worker", "worker"))
              for word in ("--set", f"roles.{role}.container.image={root_of(box, part)}", "--set", f"roles.{role}.container.runtime=charliecloud")]
    box.make_cluster(2)
    run = box.start("run", os.path.join(EXAMPLE, "config.yaml"), *images, "--set", f"hosts=[{', '.join(box.cluster.names)}]",
                    "--set", f"connect.ssh={box.cluster.ssh}")
    expect_fitted(box, run)
    box.expect_nodes_empty("nothing is left on the nodes", 20)
