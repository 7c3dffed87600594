"""The rows: a framework, its job file in examples/, the environment in which it runs, and what it must print on one machine and on two nodes."""

from dataclasses import dataclass, field

from environments import DEBIAN

TORCH = {"PyTorch": "torch"}


@dataclass
class Place:
    """One machine, or two nodes."""
    processes: int  # those that dlaunch starts
    world: int  # ranks that meet
    options: tuple = ()  # of dlaunch run
    arguments: tuple = ()  # after --
    quick: bool = False  # run it even without --all


@dataclass
class Row:
    name: str
    title: str  # for the table
    job: str  # below examples/
    environment: str
    versions: dict  # {name for the table: package}
    here: Place = None
    nodes: Place = None
    says: tuple = ("world of {world} ranks, sum of ranks {total}", "equal weights on all {world} ranks")
    also: tuple = ()  # further texts that it must print
    needs: tuple = field(default=())  # further packages
    without: tuple = ()  # packages to hide, although the environment has them

    def expected(self, place):
        total = place.world * (place.world - 1) // 2
        return [text.format(world=place.world, total=total) for text in (*self.says, *self.also)]


def two_a_node(per_node=2, quick=(False, False), started=None, world=True):
    """The two places, with `per_node` ranks on each node, of which dlaunch starts `started`. `world`: the script is told the expected number."""
    hosts = ("--hosts", "node1,node2")
    arguments = ("--world", str(2 * per_node)) if world else ()
    started = started or per_node
    return {"here": Place(started, per_node, quick=quick[0]),
            "nodes": Place(2 * started, 2 * per_node, hosts, arguments, quick=quick[1])}


def per_node(**more):
    """dlaunch starts one process on each node, which starts the others."""
    return {"here": Place(1, 2, **more), "nodes": Place(2, 4, ("--hosts", "node1,node2"), ("--world", "4"), **more)}


TENSORFLOW = {"TensorFlow": "tensorflow_cpu"}
NODES = ("--hosts", "node1,node2")

ROWS = [
    Row("ddp", "DDP", "pytorch-ddp/job.yaml", DEBIAN, {"PyTorch": "python3-torch"}, needs=("python3-sklearn",),
        here=Place(4, 4, quick=True), nodes=Place(4, 4, ("--hosts", "node1:2,node2:2"), quick=True)),
    Row("mpi_variables", "DDP, Azure ML's MPI job", "pytorch-mpi/job.yaml", DEBIAN, {"PyTorch": "python3-torch"},
        **two_a_node(per_node=4, quick=(True, True))),
    Row("mpi4py", "mpi4py", "mpi4py/job.yaml", DEBIAN, {"mpi4py": "python3-mpi4py", "Open MPI": "libopenmpi3"},
        **two_a_node(quick=(True, True))),
    Row("fsdp", "FSDP", "pytorch-fsdp/job.yaml", "torch", TORCH, **two_a_node()),
    Row("torchrun", "torchrun", "pytorch-torchrun/job.yaml", "torch", TORCH, here=per_node()["here"],
        nodes=per_node(quick=True)["nodes"]),
    Row("distributed_launch", "torch.distributed.launch", "pytorch-distributed-launch/job.yaml", "torch", TORCH, **per_node()),
    Row("deepspeed", "DeepSpeed, variables of PyTorch", "deepspeed/job.yaml", "torch", {"DeepSpeed": "deepspeed"}, also=("told by variables",),
        **two_a_node()),
    Row("deepspeed_mpi", "DeepSpeed, discovery by MPI", "deepspeed/job-mpi.yaml", "torch", {"DeepSpeed": "deepspeed", "mpi4py": "mpi4py"},
        also=("discovered by MPI",), **two_a_node()),
    # The hosts are in hosts.txt, which DeepSpeed also reads.
    Row("deepspeed_per_node", "DeepSpeed's launcher on each node", "deepspeed/job-per-node.yaml", "torch", {"DeepSpeed": "deepspeed"},
        here=Place(1, 2), nodes=Place(2, 4, (), ("--world", "4"))),
    Row("deepspeed_once", "DeepSpeed's launcher, pdsh", "deepspeed/job-once.yaml", "torch", {"DeepSpeed": "deepspeed"},
        here=Place(1, 2), nodes=Place(1, 4, NODES, ("--world", "4"))),
    Row("lightning", "Lightning", "lightning/job.yaml", "torch", {"Lightning": "lightning"}, also=("by TorchElasticEnvironment",),
        **two_a_node(world=False)),
    Row("lightning_mpi", "Lightning under MPI", "lightning/job-mpi.yaml", "torch", {"Lightning": "lightning", "mpi4py": "mpi4py"},
        also=("by MPIEnvironment",), **two_a_node(world=False)),
    Row("lightning_mpi_variables", "Lightning, Azure ML's MPI job", "lightning/job-mpi-variables.yaml", "torch", {"Lightning": "lightning"},
        also=("by LightningEnvironment",), **two_a_node(started=1, world=False)),
    Row("lightning_mpi_torch", "Lightning, MPI job with PyTorch's variables", "lightning/job-mpi-torch.yaml", "torch", {"Lightning": "lightning"},
        also=("by LightningEnvironment",), without=("mpi4py",), **two_a_node(world=False)),
    Row("lightning_per_node", "Lightning starts the others", "lightning/job-per-node.yaml", "torch", {"Lightning": "lightning"},
        also=("by LightningEnvironment",), **two_a_node(started=1, world=False)),
    Row("transformers", "Transformers' Trainer", "transformers/job.yaml", "torch", {"Transformers": "transformers"}, **two_a_node()),
    Row("accelerate", "Accelerate", "accelerate/job.yaml", "torch", {"Accelerate": "accelerate"}, **two_a_node()),
    Row("tensorflow_mirrored", "MultiWorkerMirroredStrategy", "tensorflow-mirrored/job.yaml", "tf", TENSORFLOW,
        says=("world of {world} workers, sum of indices {total}", "equal weights on all {world} workers"),
        here=Place(2, 2), nodes=Place(2, 2, NODES, quick=True)),
    Row("tensorflow_parameter_server", "ParameterServerStrategy", "tensorflow-parameter-server/job.yaml", "tf", TENSORFLOW,
        says=("chief: {world} workers and 1 parameter servers answered", "chief: evaluated loss", "evaluator: ckpt-"),
        here=Place(5, 2), nodes=Place(5, 2, NODES)),
    Row("tensorflow_workers_and_server", "2 workers, 1 parameter server", "tensorflow-workers-and-server/job.yaml", "tf", TENSORFLOW,
        says=("world of {world} workers, sum of indices {total}", "after 2 steps of {world} workers"),
        here=Place(3, 2), nodes=Place(3, 2, NODES)),
    Row("jax", "jax.distributed.initialize()", "jax/job.yaml", "jax", {"JAX": "jax"}, **two_a_node(quick=(False, True))),
    Row("horovod_pytorch", "Horovod, PyTorch", "horovod-pytorch/job.yaml", "horovod-torch", {"Horovod": "horovod", "PyTorch": "python3-torch"},
        **two_a_node()),
    Row("horovod_tensorflow", "Horovod, TensorFlow", "horovod-tensorflow/job.yaml", "horovod-tf", {"Horovod": "horovod", **TENSORFLOW},
        **two_a_node()),
]
