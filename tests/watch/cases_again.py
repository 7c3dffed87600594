"""The scenes again and again: no run may name a wrong rank."""

import os
import shutil

import scenes
from case import case

TWENTY_TIMES = 20


def repeat(scene):
    """A long case: the scene twenty times, or as often as $REPEAT says."""
    def repeated(box):
        for _ in range(int(os.environ.get("REPEAT", TWENTY_TIMES))):
            scene(box)
            shutil.rmtree(box.path("runs"))
    repeated.__name__ = f"each_of_them_twenty_times_{scene.__name__}"
    globals()[repeated.__name__] = case(long=True, budget=TWENTY_TIMES * 90)(repeated)


for each in (scenes.absent, scenes.mismatch, scenes.call_site, scenes.halves, scenes.ended, scenes.stopped, scenes.debugger, scenes.busy,
             scenes.loader, scenes.loader_of_fuse, scenes.fuse, scenes.stopped_loader, scenes.dead_loader, scenes.loader_lock, scenes.gil,
             scenes.extension, scenes.deadlock, scenes.deadlock_of_one, scenes.open_mpi, scenes.mpich, scenes.open_mpi_mismatch,
             scenes.mpich_mismatch, scenes.open_mpi_receive, scenes.mpich_receive, scenes.mpi4py, scenes.cut_between_two, scenes.cut_off,
             scenes.slow_node):
    repeat(each)
