"""The verdict on real programs that hang, each by rank, host and line; and none on those that work."""

import scenes
from case import case
from hangs import PYPI, Job

OF_PYPI = Job(python=PYPI)


@case
def a_rank_that_never_joins_the_collective(box):
    scenes.absent(box)


@case(budget=120, long=True)
def a_rank_that_never_joins_with_pytorch_of_pypi(box):
    scenes.absent(box, OF_PYPI)


@case
def a_rank_in_another_collective(box):
    scenes.mismatch(box)


@case(budget=120, long=True)
def a_rank_in_another_collective_with_pytorch_of_pypi(box):
    scenes.mismatch(box, OF_PYPI)


@case
def a_rank_in_the_same_collective_called_elsewhere(box):
    scenes.call_site(box)


@case
def two_halves_of_the_ranks_in_different_collectives(box):
    scenes.halves(box)


@case
def a_rank_that_has_ended(box):
    scenes.ended(box)


@case
def a_stopped_rank(box):
    scenes.stopped(box)


@case(budget=120)
def a_rank_in_a_debugger(box):
    scenes.debugger(box)


@case
def a_rank_in_an_endless_loop(box):
    scenes.busy(box)


@case
def a_data_loader_whose_file_does_not_answer(box):
    scenes.loader(box)


@case
def a_data_loader_on_a_file_system_that_does_not_answer(box):
    scenes.loader_of_fuse(box)


@case
def a_file_system_that_does_not_answer(box):
    scenes.fuse(box)


@case
def a_data_loader_that_is_stopped(box):
    scenes.stopped_loader(box)


@case
def a_data_loader_that_was_killed(box):
    scenes.dead_loader(box)


@case(budget=120, long=True)
def a_data_loader_with_a_lock_that_was_held_when_it_was_forked(box):
    scenes.loader_lock(box)


@case(long=True)
def a_rank_that_holds_the_lock_of_python_in_a_c_function(box):
    scenes.gil(box)


@case
def a_rank_that_holds_the_lock_of_python_in_an_extension(box):
    scenes.extension(box)


@case
def two_threads_that_wait_for_each_others_lock(box):
    scenes.deadlock(box)


@case(long=True)
def two_threads_of_one_rank_that_wait_for_each_others_lock(box):
    scenes.deadlock_of_one(box)


@case
def a_rank_that_never_joins_with_open_mpi(box):
    scenes.open_mpi(box)


@case
def a_rank_that_never_joins_with_mpich(box):
    scenes.mpich(box)


@case
def a_rank_in_a_barrier_and_others_in_a_reduction_with_open_mpi(box):
    scenes.open_mpi_mismatch(box)


@case(long=True)
def a_rank_in_a_barrier_and_others_in_a_reduction_with_mpich(box):
    scenes.mpich_mismatch(box)


@case
def two_ranks_that_receive_from_each_other_with_open_mpi(box):
    scenes.open_mpi_receive(box)


@case(long=True)
def two_ranks_that_receive_from_each_other_with_mpich(box):
    scenes.mpich_receive(box)


@case
def python_that_spins_in_a_collective_of_mpi(box):
    scenes.mpi4py(box)
