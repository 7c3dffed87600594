#include "report/known_failures.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <string>

namespace dlaunch {

namespace {

/// Whether the rank died of the signal, or its exit code is a shell's for that (128 + signal).
template <int kSignal>
bool ended_by(const ExitStatus& status) {
  return status.code() == exit_code::kSignalBase + kSignal;
}

bool was_not_finalized(const ExitStatus& status) {
  return status.mpi == MpiEnd::not_finalized;
}

// The first row that fits counts, so a row comes before rows with more general patterns.
// tests/unit/report/known_failures_test.cc has a real message for each.
constexpr auto kFailures = std::to_array<KnownFailure>({
    {.name = "mpi-not-finalized",
     .ended = was_not_finalized,
     .why =
         "a rank that has called MPI_Init must call MPI_Finalize before it exits: the others may "
         "wait for it",
     .advice = "MPI_Finalize on every way out of the program; MPI_Abort(MPI_COMM_WORLD, 1) after "
               "an error"},

    // Collectives and their networks.
    {.name = "nccl-duplicate-gpu",
     .pattern = "Duplicate GPU detected",
     .why = "two ranks use the same GPU",
     .advice =
         "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])) before the first collective"},
    {.name = "nccl-shared-memory",
     .pattern = "Error while creating shared memory segment",
     .why = "/dev/shm is too small or full: NCCL joins the ranks of a node through it",
     .advice = "container.shm_size: 16g; without a container: mount -o remount,size=16g /dev/shm",
     .beats_peer_loss = true},
    {.name = "nccl-locked-memory",
     .pattern = "ibv_reg_mr",
     .also = "Cannot allocate memory",
     .why = "the limit of locked memory is too low for RDMA",
     .advice = "memlock unlimited in /etc/security/limits.conf of each node; ulimit -l shows it",
     .beats_peer_loss = true},
    {.name = "nccl-no-interface",
     .pattern = "no socket interface found",
     .why = "the node does not have the interface that NCCL_SOCKET_IFNAME names",
     .advice =
         "leave NCCL_SOCKET_IFNAME unset: dlaunch sets it; or --set rendezvous.interface=NAME"},
    {.name = "gloo-no-interface",
     .pattern = "Unable to find address for: ",
     .why = "the node does not have the interface that GLOO_SOCKET_IFNAME names",
     .advice =
         "leave GLOO_SOCKET_IFNAME unset: dlaunch sets it; or --set rendezvous.interface=NAME"},
    {.name = "nccl-infiniband-timeout",
     .pattern = "vendor err 129",
     .why = "a message over InfiniBand or RoCE was not acknowledged: the peer is gone, or the link "
            "loses packets",
     .advice = "dlaunch check measures each link; --env NCCL_IB_DISABLE=1 runs the job over TCP"},
    {.name = "ucx-transport-timeout",
     .pattern = "Transport retry count exceeded",
     .why = "a message over InfiniBand or RoCE was not acknowledged: the peer is gone, or the link "
            "loses packets",
     .advice = "dlaunch check measures each link; --env UCX_TLS=tcp,self,sm runs the job over TCP"},
    {.name = "nccl-watchdog",
     .pattern = "Watchdog caught collective operation timeout",
     .why = "a collective did not complete in time, because a rank did not take part in it",
     .advice = "init_process_group(timeout=timedelta(hours=1)) if a rank was only slow"},
    {.name = "nccl-remote-error",
     .pattern = "remote process exited or there was a network error",
     .why = "another rank is gone, or the network failed",
     .advice = "dlaunch check tests the network between the nodes"},
    {.name = "collective-mismatch",
     .pattern = "Detected mismatch between collectives on ranks",
     .why = "the ranks called different collectives, or with different shapes",
     .advice = "the same collectives in the same order on every rank: no rank may skip a batch"},
    {.name = "nccl-invalid-usage",
     .pattern = "ncclInvalidUsage",
     .why = "NCCL was called with arguments that it refuses",
     .advice = "--env NCCL_DEBUG=WARN names the call"},
    {.name = "ddp-unused-parameters",
     .pattern = "Expected to have finished reduction in the prior iteration",
     .why = "some parameters of the model take no part in the loss",
     .advice = "DistributedDataParallel(model, find_unused_parameters=True)"},
    {.name = "horovod-stalled",
     .pattern = "are waiting for remainder of ranks",
     .why = "some ranks submitted a tensor, and others did not",
     .advice = "the same number of steps on every rank, or hvd.join() after the last one"},
    {.name = "mpi-message-truncated",
     .pattern = "essage truncated",
     .why = "a rank received more data than its buffer holds: the counts of sender and receiver "
            "differ",
     .advice = "the same count and type on both sides; in a collective on all ranks"},
    {.name = "mpi-invalid-rank",
     .pattern = "MPI_ERR_RANK: invalid rank",
     .why = "the program addresses a rank that the job does not have",
     .advice = "as many processes as the program expects: -n N"},

    // How the ranks were started.
    {.name = "openmpi-no-slots",
     .pattern = "There are not enough slots available in the system",
     .why = "the command calls mpirun, which knows nothing of this job's ranks",
     .advice = "the program without mpirun: dlaunch starts its ranks (framework: mpi)"},
    {.name = "openmpi-no-component",
     .pattern = "A requested component was not found, or was unable to be opened",
     .why = "Open MPI lacks a component that its settings ask for",
     .advice = "ompi_info lists the components; env | grep OMPI_MCA shows the settings",
     .of_node = true},
    {.name = "openmpi-unreachable",
     .pattern = "At least one pair of MPI processes are unable to reach each other",
     .why = "Open MPI's settings leave two of the ranks without a common transport",
     .advice = "env | grep OMPI_MCA shows settings such as btl; leave them out"},
    {.name = "openmpi-no-pmix",
     .pattern = "OMPI was not built with SLURM's PMI support",
     .why = "Open MPI cannot talk to the PMIx server: their versions are incompatible",
     .advice = "--set mpi.launcher=mpirun --set mpi.program=/path/of/its/mpirun"},
    {.name = "rank-not-set",
     .pattern = "expected, but not set",
     .why = "the variables of the rank did not reach the program",
     .advice = "framework: pytorch (mpi.torch_variables: true for mpi), and no env -i, sudo or su"},
    {.name = "no-process-group",
     .pattern = "Default process group has not been initialized",
     .why = "the program uses torch.distributed before initialising it",
     .advice = "torch.distributed.init_process_group() first, even with one process"},
    {.name = "deepspeed-batch-size",
     .pattern = "Check batch related parameters",
     .why = "the batch size of DeepSpeed's configuration does not match the number of ranks",
     .advice =
         "train_batch_size = train_micro_batch_size_per_gpu * gradient_accumulation_steps * N"},
    {.name = "world-size-not-divisible",
     .pattern = "is not divisible by",
     .also = "world_size",
     .why = "the number of ranks is not a multiple of the parallel sizes of the model",
     .advice = "-n N with a multiple of tensor x pipeline x context (or expert) parallel size"},

    // GPUs.
    {.name = "gpu-out-of-memory",
     .pattern = "out of memory. Tried to allocate",
     .why = "the memory of the GPU is full",
     .advice = "a smaller batch; --env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    {.name = "gpu-driver-out-of-memory",
     .pattern = "CUDA_ERROR_OUT_OF_MEMORY",
     .why = "the memory of the GPU is full",
     .advice = "a smaller batch; nvidia-smi shows what else uses the GPU"},
    {.name = "cuda-out-of-memory",
     .pattern = "CUDA error: out of memory",
     .why = "the memory of the GPU is full",
     .advice = "a smaller batch; nvidia-smi shows what else uses the GPU"},
    {.name = "nccl-out-of-memory",
     .pattern = "'out of memory'",
     .also = "Cuda failure",
     .why = "NCCL found no memory on the GPU for its buffers",
     .advice = "a smaller batch, or torch.cuda.set_per_process_memory_fraction(0.9) to leave some",
     .beats_peer_loss = true},
    {.name = "xla-out-of-memory",
     .pattern = "RESOURCE_EXHAUSTED: Out of memory",
     .why = "the memory of the GPU or TPU is full",
     .advice = "a smaller batch; --env XLA_PYTHON_CLIENT_PREALLOCATE=false on shared GPUs"},
    {.name = "cublas-no-memory",
     .pattern = "CUBLAS_STATUS_ALLOC_FAILED",
     .why = "cuBLAS found no memory on the GPU",
     .advice = "a smaller batch; nvidia-smi shows what else uses the GPU"},
    {.name = "cudnn-not-initialized",
     .pattern = "CUDNN_STATUS_NOT_INITIALIZED",
     .why = "cuDNN could not start: the GPU's memory is full, or cuDNN is incompatible with the "
            "driver",
     .advice = "a smaller batch; nvidia-smi shows the memory in use and the driver"},
    {.name = "gpu-memory-error",
     .pattern = "uncorrectable ECC error",
     .why = "the memory of the GPU is defective",
     .advice =
         "--exclude NODE, until the node has been rebooted; nvidia-smi -q -d ECC counts errors"},
    {.name = "gpu-off-the-bus",
     .pattern = "fallen off the bus",
     .why = "the GPU no longer answers: power, heat or a defect",
     .advice = "--exclude NODE, until the node has been rebooted and checked"},
    {.name = "gpu-lost",
     .pattern = "GPU is lost",
     .why = "the GPU no longer answers: power, heat or a defect",
     .advice = "--exclude NODE, until the node has been rebooted and checked"},
    {.name = "gpu-nvlink-error",
     .pattern = "uncorrectable NVLink error",
     .why = "a link between GPUs of the node is defective",
     .advice =
         "--exclude NODE, until the node has been rebooted; nvidia-smi nvlink -e counts errors"},
    {.name = "gpu-peer-memory",
     .pattern = "Invalid access of peer GPU memory over nvlink",
     .why = "a GPU failed to access the memory of another one, or has a defect",
     .advice = "nvidia-smi nvlink -e on that node counts errors; --exclude NODE if there are any"},
    {.name = "gpu-fabric-not-ready",
     .pattern = "system not yet initialized",
     .why = "the service that sets up the NVSwitches between the GPUs is not running on the node",
     .advice = "systemctl status nvidia-fabricmanager there; its version must match the driver's",
     .of_node = true},
    {.name = "gpu-illegal-access",
     .pattern = "an illegal memory access was encountered",
     .why = "a GPU kernel accessed memory that it does not own, perhaps before the line shown",
     .advice = "--env CUDA_LAUNCH_BLOCKING=1 shows the right line"},
    {.name = "gpu-device-assert",
     .pattern = "device-side assert triggered",
     .why = "an assertion in a GPU kernel failed, usually an index or a label out of range",
     .advice = "--env CUDA_LAUNCH_BLOCKING=1 shows the right line"},
    {.name = "gpu-launch-failure",
     .pattern = "unspecified launch failure",
     .why = "a GPU kernel crashed, perhaps before the line shown",
     .advice =
         "--env CUDA_LAUNCH_BLOCKING=1 shows the right line; dlaunch check looks for defects"},
    {.name = "gpu-busy",
     .pattern = "busy or unavailable",
     .also = "CUDA-capable device",
     .why = "another process has exclusive use of the GPU, or an earlier one left it unusable",
     .advice = "nvidia-smi -q -d COMPUTE,PIDS on that node shows mode and processes"},
    {.name = "gpu-not-visible",
     .pattern = "invalid device ordinal",
     .why = "the program selects a GPU that the rank does not see",
     .advice =
         "cuda:LOCAL_RANK, or cuda:0 with binding.gpus: one-per-process; --gpus N: fewer ranks"},
    {.name = "gpu-wrong-architecture",
     .pattern = "no kernel image is available for execution on the device",
     .why = "the program was not compiled for this kind of GPU",
     .advice =
         "python -c 'import torch; print(torch.cuda.get_arch_list())' lists what it is built for",
     .of_node = true},
    {.name = "gpu-driver-insufficient",
     .pattern = "CUDA driver version is insufficient for CUDA runtime version",
     .why = "the NVIDIA driver is too old for the CUDA version of the program",
     .advice =
         "nvidia-smi shows the CUDA version of the driver: a build for that, or a newer driver",
     .of_node = true},
    {.name = "gpu-driver-too-old",
     .pattern = "The NVIDIA driver on your system is too old",
     .why = "the NVIDIA driver is too old for the CUDA version of the program",
     .advice =
         "nvidia-smi shows the CUDA version of the driver: a build for that, or a newer driver",
     .of_node = true},
    {.name = "gpu-driver-mismatch",
     .pattern = "Driver/library version mismatch",
     .why = "the NVIDIA driver was updated while its kernel module was loaded",
     .advice = "--exclude NODE, until the node has been rebooted",
     .of_node = true},
    {.name = "gpu-no-driver",
     .pattern = "Found no NVIDIA driver on your system",
     .why = "the rank finds no NVIDIA driver",
     .advice = "nvidia-smi on that node; in a container: container.options for the GPUs",
     .of_node = true},
    {.name = "gpu-none",
     .pattern = "No CUDA GPUs are available",
     .why = "the rank sees no GPU",
     .advice = "nvidia-smi on that node; CUDA_VISIBLE_DEVICES must name a GPU of the node",
     .of_node = true},
    {.name = "torch-without-cuda",
     .pattern = "Torch not compiled with CUDA enabled",
     .why = "this PyTorch was built for CPUs only",
     .advice = "the pip command for your CUDA version from https://pytorch.org/get-started",
     .of_node = true},
    {.name = "torch-without-nccl",
     .pattern = "Distributed package doesn't have NCCL built in",
     .why = "this PyTorch was built without NCCL",
     .advice = "init_process_group(\"gloo\") for CPUs; for GPUs a PyTorch that was built with CUDA",
     .of_node = true},
    {.name = "cuda-after-fork",
     .pattern = "Cannot re-initialize CUDA in forked subprocess",
     .why = "the program forked after it had begun to use CUDA",
     .advice = "torch.multiprocessing.set_start_method(\"spawn\")"},
    {.name = "jax-no-backend",
     .pattern = "failed to initialize: ",
     .also = "Backend '",
     .why = "JAX cannot use the accelerator",
     .advice =
         "pip install -U \"jax[cuda12]\"; python -c 'import jax; print(jax.devices())' tests it"},

    // Memory of the node.
    {.name = "shared-memory-too-small",
     .pattern = "DataLoader worker",
     .also = "killed by signal: Bus error",
     .why = "/dev/shm is too small or full: data loader workers hand over their batches in it",
     .advice = "container.shm_size: 16g; without a container: mount -o remount,size=16g /dev/shm"},
    {.name = "torch-shared-memory",
     .pattern = "unable to allocate shared memory(shm)",
     .why = "/dev/shm is too small or full: data loader workers hand over their batches in it",
     .advice = "container.shm_size: 16g; without a container: mount -o remount,size=16g /dev/shm"},
    {.name = "data-loader-killed",
     .pattern = "DataLoader worker",
     .also = "killed by signal: Killed",
     .why = "a data loader worker was killed, usually for lack of memory",
     .advice = "fewer workers (num_workers); dmesg as root shows kills for lack of memory"},
    {.name = "data-loader-exited",
     .pattern = "DataLoader worker (pid",
     .why = "a data loader worker ended and did not say why",
     .advice = "num_workers=0 shows the error of the data set itself"},
    {.name = "torch-host-memory",
     .pattern = "DefaultCPUAllocator: can't allocate memory",
     .why = "the program asks for more memory than the node has or a limit allows",
     .advice =
         "a smaller batch or fewer workers; ulimit -v and free -g on that node show the limits"},
    {.name = "python-memory",
     .pattern = "MemoryError",
     .why = "the program asks for more memory than the node has or a limit allows",
     .advice =
         "a smaller batch or fewer workers; ulimit -v and free -g on that node show the limits"},
    {.name = "cpp-memory",
     .pattern = "std::bad_alloc",
     .why = "the program asks for more memory than the node has or a limit allows",
     .advice =
         "a smaller batch or fewer workers; ulimit -v and free -g on that node show the limits"},

    // Limits of processes.
    {.name = "too-many-open-files",
     .pattern = "Too many open files",
     .why = "the process has as many open files as its limit allows",
     .advice = "sh -c 'ulimit -n 65536; exec python train.py' as the command"},
    {.name = "data-loader-open-files",
     .pattern = "items of ancdata",
     .why = "the process has as many open files as its limit allows: each tensor that a data "
            "loader worker hands over is one",
     .advice = "torch.multiprocessing.set_sharing_strategy(\"file_system\")"},
    {.name = "too-many-threads",
     .pattern = "can't start new thread",
     .why = "the limit of processes and threads is reached, or memory is short",
     .advice = "fewer workers; --set binding.threads=1; ulimit -u and pids.max show the limits"},
    {.name = "openblas-threads",
     .pattern = "blas_thread_init: pthread_create",
     .why = "the limit of processes and threads is reached",
     .advice =
         "--set binding.threads=1 or --env OPENBLAS_NUM_THREADS=1; ulimit -u shows the limit"},
    {.name = "too-many-processes",
     .pattern = "Resource temporarily unavailable",
     .also = "fork",
     .why = "the limit of processes and threads is reached",
     .advice = "fewer workers; ulimit -u and pids.max of the cgroup show the limits"},

    // Programs and libraries that do not fit the node.
    {.name = "glibc-too-old",
     .pattern = "version `GLIBC",
     .why = "the program was built on a newer system than this node's",
     .advice = "container.image with the system it was built on, or a build on the oldest node",
     .of_node = true},
    {.name = "undefined-symbol",
     .pattern = "undefined symbol: ",
     .why = "a compiled module and a library it uses have incompatible versions",
     .advice =
         "pip install --no-cache-dir --force-reinstall PACKAGE, for the versions on that node",
     .of_node = true},
    {.name = "shared-library-missing",
     .pattern = "cannot open shared object file",
     .why = "a shared library is not installed, or the loader does not look where it is",
     .advice = "ldd PROGRAM on that node; --env LD_LIBRARY_PATH=DIR",
     .of_node = true},
    {.name = "numpy-binary",
     .pattern = "size changed, may indicate binary incompatibility",
     .why = "a module was compiled for another version of NumPy",
     .advice = "pip install 'numpy<2', or --force-reinstall of the module that the traceback names",
     .of_node = true},
    {.name = "numpy-1-module",
     .pattern = "compiled using NumPy 1.x cannot be run in",
     .why = "a module was compiled for NumPy 1, and NumPy 2 is installed",
     .advice = "pip install 'numpy<2'",
     .of_node = true},
    {.name = "exec-format",
     .pattern = "Exec format error",
     .why = "the program was built for another kind of CPU, or is a script without a #! line",
     .advice = "file PROGRAM and uname -m on that node",
     .of_node = true},
    {.name = "windows-line-ends",
     .pattern = "\\r'",
     .also = "No such file or directory",
     .why = "the script has Windows line endings",
     .advice = "sed -i 's/\\r$//' SCRIPT"},
    {.name = "interpreter-missing",
     .pattern = "cannot execute: required file not found",
     .why = "the program named in the script's #! line does not exist, or the line has a Windows "
            "line ending",
     .advice = "head -1 SCRIPT | cat -A shows the line; sed -i 's/\\r$//' SCRIPT"},
    {.name = "cuda-home-missing",
     .pattern = "CUDA_HOME environment variable is not set",
     .why = "the program compiles CUDA code and does not find the toolkit",
     .advice = "--env CUDA_HOME=/usr/local/cuda",
     .of_node = true},
    {.name = "ninja-missing",
     .pattern = "Ninja is required to load C++ extensions",
     .why = "the program compiles an extension, and ninja is not in PATH",
     .advice = "pip install ninja",
     .of_node = true},
    {.name = "python-too-old",
     .pattern = "unsupported operand type(s) for |: 'type'",
     .why = "types such as \"int | None\" need Python 3.10",
     .advice = "a newer Python, or: from __future__ import annotations"},
    {.name = "module-missing",
     .pattern = "No module named ",
     .why = "the Python of the rank does not have the module",
     .advice = "pip install with that Python; or activate the environment before dlaunch run",
     .of_node = true},
    {.name = "ascii-locale",
     .pattern = "'ascii' codec can't encode",
     .why = "the locale of the rank is ASCII",
     .advice = "--env PYTHONUTF8=1"},

    // Files.
    {.name = "checkpoint-truncated",
     .pattern = "failed finding central directory",
     .why = "the file is incomplete, or is not a PyTorch checkpoint",
     .advice = "an earlier checkpoint; write to another name and os.replace() it when complete"},
    {.name = "safetensors-truncated",
     .pattern = "Error while deserializing header",
     .why = "the file is not complete",
     .advice =
         "download it again; git lfs pull if it is a pointer of Git LFS (ls -l shows 130 bytes)"},
    {.name = "pickle-empty",
     .pattern = "Ran out of input",
     .why = "the file is empty or not complete",
     .advice = "an earlier checkpoint; write to another name and os.replace() it when complete"},
    {.name = "checkpoint-of-other-model",
     .pattern = "Error(s) in loading state_dict",
     .why = "the checkpoint is of a model with other layers or sizes",
     .advice =
         "the options of the run that wrote it; load_state_dict(..., strict=False) for a part"},
    {.name = "checkpoint-not-written",
     .pattern = "unexpected pos ",
     .also = "inline_container.cc",
     .why = "PyTorch could not write the whole file: the disk is full, or a quota is used up",
     .advice = "df -h of the folder, and quota -s"},
    {.name = "disk-full",
     .pattern = "No space left on device",
     .why = "a disk is full",
     .advice = "df -h and df -i on that node; --env TMPDIR=DIR for temporary files"},
    {.name = "quota-exceeded",
     .pattern = "Disk quota exceeded",
     .why = "the quota of the user or the project is used up",
     .advice = "quota -s; --env HF_HOME=DIR and --env TMPDIR=DIR move caches elsewhere"},
    {.name = "read-only-file-system",
     .pattern = "Read-only file system",
     .why = "the file system is mounted read-only",
     .advice =
         "another folder; container.mounts without :ro; mount on that node shows the options"},
    {.name = "stale-file-handle",
     .pattern = "Stale file handle",
     .why = "a file on a network file system was removed or replaced while it was open",
     .advice = "separate files for each rank; look for a job that deletes or moves them"},
    {.name = "file-system-gone",
     .pattern = "Transport endpoint is not connected",
     .why = "the process behind a FUSE mount ended",
     .advice = "fusermount -u DIR on that node, and mount it again",
     .of_node = true},
    {.name = "input-output-error",
     .pattern = "Input/output error",
     .why = "a disk or a network file system failed",
     .advice = "dmesg as root on that node; --exclude NODE if its disk is faulty",
     .of_node = true},

    // Other machines. Rows that name hubs come before the rows for errors that make hubs
    // unreachable.
    {.name = "hub-unreachable",
     .pattern = "couldn't connect to 'https://huggingface.co'",
     .why = "the node cannot reach the hub, and the model is not in its cache",
     .advice =
         "download it where the hub is reachable; then --env HF_HOME=DIR --env HF_HUB_OFFLINE=1",
     .of_node = true},
    {.name = "hub-not-cached",
     .pattern = "we cannot find the requested files in the",
     .why = "the node cannot reach the hub, and the model is not in its cache",
     .advice =
         "download it where the hub is reachable; then --env HF_HOME=DIR --env HF_HUB_OFFLINE=1",
     .of_node = true},
    {.name = "certificate-rejected",
     .pattern = "CERTIFICATE_VERIFY_FAILED",
     .why = "the node does not know the authority that signed the server's certificate",
     .advice = "--env SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt with your site's authority",
     .of_node = true},
    {.name = "name-unknown",
     .pattern = "Name or service not known",
     .why = "the node cannot resolve the name of a host",
     .advice = "getent hosts NAME on that node; hosts[].address gives dlaunch an address",
     .of_node = true},
    {.name = "name-service-fails",
     .pattern = "Temporary failure in name resolution",
     .why = "the node's name service does not answer",
     .advice = "getent hosts NAME and cat /etc/resolv.conf on that node",
     .of_node = true},
    {.name = "no-route",
     .pattern = "No route to host",
     .why = "a firewall or a missing route keeps the node from reaching another machine",
     .advice = "dlaunch check; --set rendezvous.interface=NAME for another network"},
    {.name = "network-unreachable",
     .pattern = "Network is unreachable",
     .why = "the node has no route to that network",
     .advice = "ip route on that node; a proxy (--env https_proxy=URL) if it is the internet"},
    {.name = "connection-refused",
     .pattern = "Connection refused",
     .why = "nothing listens at the address and port that the program connects to",
     .advice = "MASTER_ADDR and MASTER_PORT from the environment, not fixed ones"},
    {.name = "address-in-use",
     .pattern = "ddress already in use",
     .why = "the program listens on a port that another process uses",
     .advice = "ss -ltnp on that node shows that process; port 0 takes a free port"},
    {.name = "address-of-other-host",
     .pattern = "Cannot assign requested address",
     .why = "the program listens on an address that this node does not have",
     .advice = "0.0.0.0 as the address, or only rank 0 listens on MASTER_ADDR"},

    // Texts that may occur in the last lines of any program, so these rows come last.
    {.name = "permission-denied",
     .pattern = "Permission denied",
     .why = "the user may not use the file or folder",
     .advice = "ls -ld FILE on that node; chmod +x for a program of your own",
     .of_node = true},
    {.name = "file-missing",
     .pattern = "No such file or directory",
     .why = "the file does not exist on the node of the rank",
     .advice = "the same path on every node: shared storage, or --sync for the workdir",
     .of_node = true},
    {.name = "slurm-time-limit",
     .pattern = "DUE TO TIME LIMIT",
     .why = "the Slurm job reached its time limit",
     .advice = "a longer --time for sbatch, and checkpoints from which the next job continues"},
    {.name = "python-crashed",
     .pattern = "Fatal Python error: Segmentation fault",
     .why = "native code that Python called accessed memory that it does not own",
     .advice = "reinstall the package of the call that is shown, for the versions on that node"},
    {.name = "segmentation-fault",
     .ended = ended_by<SIGSEGV>,
     .why = "the program accessed memory that it does not own",
     .advice =
         "--env PYTHONFAULTHANDLER=1 shows where in Python; ulimit -c unlimited and gdb in C"},
    {.name = "bus-error",
     .ended = ended_by<SIGBUS>,
     .why = "memory behind a file could not be provided: /dev/shm is full, or a mapped file shrank",
     .advice = "df -h /dev/shm on that node; container.shm_size: 16g"},
    {.name = "illegal-instruction",
     .ended = ended_by<SIGILL>,
     .why = "the program uses instructions that this CPU does not have",
     .advice = "lscpu on this node and on a good one; a build without -march=native",
     .of_node = true},
    {.name = "cpu-time-limit",
     .ended = ended_by<SIGXCPU>,
     .why = "the CPU time limit was reached",
     .advice = "ulimit -t shows it; cpu in /etc/security/limits.conf of each node"},
    {.name = "file-size-limit",
     .ended = ended_by<SIGXFSZ>,
     .why = "a file grew beyond the file size limit",
     .advice = "ulimit -f shows it; fsize in /etc/security/limits.conf of each node"},
});

// How many last lines to search if there is no exception; Open MPI's text has 15.
constexpr std::size_t kLines = 20;

// Marks of informational messages and warnings of libraries, which did not end the program.
constexpr std::array<std::string_view, 9> kHarmless{
    " NCCL INFO ",     "cannot be preloaded", "[c10d] The ",   "Warning: ",    "WARNING: ",
    ": I tensorflow/", ": W tensorflow/",     ": I external/", ": W external/"};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Whether the exception, or a line that may name the cause, contains `pattern`.
bool any_text(const Evidence& evidence, std::string_view pattern) {
  const auto& lines = evidence.last_lines;
  const std::size_t newest = evidence.exception ? std::min(evidence.lines_after, kLines) : kLines;
  if (evidence.exception && contains(*evidence.exception, pattern)) return true;
  return std::any_of(lines.end() - static_cast<std::ptrdiff_t>(std::min(newest, lines.size())),
                     lines.end(), [&](const std::string& line) {
                       return contains(line, pattern) &&
                              std::none_of(kHarmless.begin(), kHarmless.end(),
                                           [&](auto mark) { return contains(line, mark); });
                     });
}

bool anywhere(const Evidence& evidence, std::string_view pattern) {
  return contains(evidence.exception.value_or(""), pattern) ||
         std::any_of(evidence.last_lines.begin(), evidence.last_lines.end(),
                     [&](const std::string& line) { return contains(line, pattern); });
}

}  // namespace

std::span<const KnownFailure> known_failures() {
  return kFailures;
}

const KnownFailure* find_known_failure(const Evidence& evidence, const ExitStatus* status) {
  const auto* found =
      std::find_if(kFailures.begin(), kFailures.end(), [&](const KnownFailure& row) {
        if (row.ended != nullptr && (status == nullptr || !row.ended(*status))) return false;
        return (row.pattern.empty() || any_text(evidence, row.pattern)) &&
               (row.also.empty() || anywhere(evidence, row.also));
      });
  return found == kFailures.end() ? nullptr : found;
}

}  // namespace dlaunch
