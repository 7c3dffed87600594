"""The verdict on programs whose ranks are on nodes over ssh, by rank, host and line."""

import scenes
from case import case
from hangs import SIXTEEN, Job

ONE_EACH = Job(ranks=2, nodes=2)


@case
def one_of_the_ranks_of_two_nodes(box):
    scenes.absent(box, ONE_EACH)


@case(budget=120)
def the_network_between_two_nodes_is_cut(box):
    scenes.cut_between_two(box)


@case(budget=120, long=True)
def the_network_between_a_node_and_all_others_is_cut(box):
    scenes.cut_off(box)


@case(budget=120, long=True)
def a_node_that_nothing_reaches_any_more_is_lost(box):
    scenes.lost(box)


@case(budget=120)
def a_node_with_little_cpu_is_slow(box):
    scenes.slow_node(box)


# --- two ranks on each of eight nodes

EIGHT = {
    "never_joins_the_collective": scenes.absent, "is_in_another_collective": scenes.mismatch,
    "is_in_the_same_collective_called_elsewhere": scenes.call_site, "has_ended": scenes.ended, "is_stopped": scenes.stopped,
    "is_in_a_debugger": scenes.debugger, "is_in_an_endless_loop": scenes.busy, "reads_from_a_file_system_that_does_not_answer": scenes.fuse,
    "has_a_data_loader_on_a_file_system_that_does_not_answer": scenes.loader_of_fuse, "has_a_data_loader_that_was_killed": scenes.dead_loader,
    "holds_the_lock_of_python_in_an_extension": scenes.extension, "has_two_threads_that_wait_for_each_others_lock": scenes.deadlock_of_one,
    "is_cut_off_with_its_node": scenes.cut_off, "is_on_a_node_with_little_cpu": scenes.slow_node,
}
MPI = {"never_joins": scenes.mpi_absent, "is_in_a_barrier": scenes.mpi_mismatch, "receives_from_one_that_receives_from_it": scenes.mpi_receive}


def on_eight_nodes(name, scene):
    def one_of_sixteen(box):
        scene(box)
    one_of_sixteen.__name__ = f"one_of_sixteen_ranks_{name}"
    globals()[one_of_sixteen.__name__] = case(long=True, budget=400)(one_of_sixteen)


for each, shown in EIGHT.items():
    on_eight_nodes(each, lambda box, shown=shown: shown(box, SIXTEEN))
for each, shown in MPI.items():
    for library, compiler in (("open_mpi", "mpicc.openmpi"), ("mpich", "mpicc.mpich")):
        on_eight_nodes(f"{each}_with_{library}", lambda box, shown=shown, compiler=compiler: shown(box, compiler, SIXTEEN))
