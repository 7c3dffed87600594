// Real messages: from runs on Debian 12 ("run", with the version of what printed it), and from
// issue trackers (repository#number).
#include "report/known_failures.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "report/known_causes.h"
#include "report/own_messages.h"
#include "report_builder.h"

namespace dlaunch {
namespace {

using testing_support::code;
using testing_support::killed_by;

struct Message {
  std::string name;
  std::string text;  // the end of what the rank printed
  ExitStatus status = code(1);
};

const std::vector<Message> kMessages{
    // facebookresearch/fairchem#597, NVIDIA/Megatron-LM#661
    {"nccl-duplicate-gpu",
     "torch.distributed.DistBackendError: NCCL error in: "
     "/opt/pytorch/pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1727, invalid usage "
     "(run with NCCL_DEBUG=WARN for details), NCCL version 2.19.3\n"
     "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
     "Last error:\n"
     "Duplicate GPU detected : rank 3 and rank 0 both on CUDA device f000"},
    // NVIDIA/nccl#525; the second from pytorch/ci-infra#490
    {"nccl-shared-memory",
     "[3] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\n"
     "[3] NCCL INFO include/shm.h:41 -> 2\n"
     "[3] include/shm.h:48 NCCL WARN Error while creating shared memory segment "
     "nccl-shm-recv-1462445a6f01cbfc-1-2-3 (size 9637888)"},
    {"nccl-shared-memory",
     "202016:202235 [0] misc/shmutils.cc:132 NCCL WARN Error while creating shared memory segment "
     "/dev/shm/nccl-WU88OE (size 9637888), error: No space left on device (28)"},
    // NVIDIA/nccl-tests#206, openucx/ucx#6264
    {"nccl-locked-memory",
     "misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate "
     "memory"},
    {"nccl-locked-memory", "UCX ERROR ibv_reg_mr failed: Cannot allocate memory"},
    // EasonXiao-888/MambaTree#14
    {"nccl-no-interface",
     "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1201, "
     "internal error, NCCL version 2.14.3\n"
     "ncclInternalError: Internal check failed.\n"
     "Last error:\n"
     "Bootstrap : no socket interface found"},
    // run: PyTorch 1.13.0
    {"gloo-no-interface",
     "RuntimeError: [enforce fail at ./gloo/transport/tcp/device.cc:80] ifa != nullptr. Unable to "
     "find address for: ib9"},
    // NVIDIA/nccl#426, NVIDIA/nccl#1405
    {"nccl-infiniband-timeout",
     "NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129"},
    {"nccl-infiniband-timeout",
     "kp-ddp-worker-0:3468:3905 [4] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer "
     "10.216.210.236<54862> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid "
     "fd00:1148:9000:5000:4:200:3:ff22 remoteGidsfd00:1148:9000:5000:4:200:3:ff1f"},
    // openucx/ucx#5199
    {"ucx-transport-timeout",
     "[master:19546:0:19546] ib_mlx5_log.c:139  Transport retry count exceeded on mlx5_0:1/IB "
     "(synd 0x15 vend 0x81 hw_synd 0/0)\n"
     "[master:19546:0:19546] ib_mlx5_log.c:139  DCI QP 0xa9f wqe[0]: SEND s-e [rqpn 0xa66 rlid "
     "703] [inl len 18]"},
    // as in known_causes_test.cc
    {"nccl-watchdog",
     "[rank1]:[E ProcessGroupNCCL.cpp:475] [Rank 1] Watchdog caught collective operation timeout: "
     "WorkNCCL(SeqNum=1173, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for "
     "1800866 milliseconds before timing out."},
    {"nccl-remote-error",
     "torch.distributed.DistBackendError: NCCL error in: "
     "/pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:268, remote process exited or there was "
     "a network error, NCCL version 2.21.5"},
    // run: PyTorch 1.13.0 with TORCH_DISTRIBUTED_DEBUG=DETAIL
    {"collective-mismatch",
     "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: "
     "CollectiveFingerPrint(OpType=ALLREDUCE, TensorShape=[4], TensorDtypes=Float, "
     "TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu, layout=Strided (default), "
     "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))), but "
     "Rank 1 is running collective: CollectiveFingerPrint(OpType=BROADCAST, TensorShape=[4], "
     "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu, "
     "layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), "
     "memory_format=(nullopt)))."},
    // facebookresearch/swav#61
    {"nccl-invalid-usage",
     "RuntimeError: NCCL error in: /pytorch/torch/lib/c10d/ProcessGroupNCCL.cpp:825, invalid "
     "usage, NCCL version 2.7.8\n"
     "ncclInvalidUsage: This usually reflects invalid usage of NCCL library (such as too many "
     "async ops, too many collectives at once, mixing streams in a group, etc)."},
    // ImprintLab/MedSegDiff#27
    {"ddp-unused-parameters",
     "RuntimeError: Expected to have finished reduction in the prior iteration before starting a "
     "new one. This error indicates that your module has parameters that were not used in "
     "producing loss."},
    // horovod/horovod#2843
    {"horovod-stalled",
     "[2021-04-10 21:28:20.658706: W horovod/common/stall_inspector.cc:105] One or more tensors "
     "were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting "
     "for remainder of ranks for more than 60 seconds. This may indicate that different ranks are "
     "trying to submit different tensors or that only subset of ranks is submitting tensors, "
     "which will cause deadlock. "},
    // run: Open MPI 4.1.4; MPICH 4.0.2
    {"mpi-message-truncated",
     "[vm:02162] *** An error occurred in MPI_Recv\n"
     "[vm:02162] *** reported by process [1687355393,1]\n"
     "[vm:02162] *** on communicator MPI_COMM_WORLD\n"
     "[vm:02162] *** MPI_ERR_TRUNCATE: message truncated\n"
     "[vm:02162] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n"
     "[vm:02162] ***    and potentially your MPI job)"},
    {"mpi-message-truncated",
     "Abort(402792462) on node 1 (rank 1 in comm 0): Fatal error in internal_Recv: Message "
     "truncated, error stack:\n"
     "internal_Recv(127): MPI_Recv(buf=0x7ffdf1417590, count=1, MPI_INT, 0, 0, MPI_COMM_WORLD, "
     "status=0x1) failed\n"
     "(unknown)(): Message truncated"},
    // run: Open MPI 4.1.4
    {"mpi-invalid-rank",
     "[vm:02177] *** An error occurred in MPI_Send\n"
     "[vm:02177] *** reported by process [1685848065,0]\n"
     "[vm:02177] *** on communicator MPI_COMM_WORLD\n"
     "[vm:02177] *** MPI_ERR_RANK: invalid rank\n"
     "[vm:02177] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n"
     "[vm:02177] ***    and potentially your MPI job)"},
    {"openmpi-no-slots",
     "There are not enough slots available in the system to satisfy the 4096\n"
     "slots that were requested by the application:\n\n"
     "  true\n\n"
     "Either request fewer slots for your application, or make more slots\n"
     "available for use."},
    {"openmpi-no-component",
     "A requested component was not found, or was unable to be opened.  This\n"
     "means that this component is either not installed or is unable to be\n"
     "used on your system (e.g., sometimes this means that shared libraries\n"
     "that the component requires are unable to be found/loaded).  Note that\n"
     "Open MPI stopped checking at the first component that it did not find.\n\n"
     "Host:      vm\nFramework: pml\nComponent: nosuch"},
    {"openmpi-unreachable",
     "At least one pair of MPI processes are unable to reach each other for\n"
     "MPI communications.  This means that no Open MPI device has indicated\n"
     "that it can be used to communicate between these processes.  This is\n"
     "an error; Open MPI requires that all MPI processes be able to reach\n"
     "each other.  This error can sometimes be the result of forgetting to\n"
     "specify the \"self\" BTL."},
    // open-mpi/ompi#10940
    {"openmpi-no-pmix",
     "[node001:94018] PMIX ERROR: NOT-FOUND in file ptl_usock.c at line 175\n"
     "[node001:94018] OPAL ERROR: Unreachable in file pmix3x_client.c at line 112\n"
     "----------------------------------------------------------------------\n"
     "The application appears to have been direct launched using \"srun\",\n"
     "but OMPI was not built with SLURM's PMI support and therefore cannot\n"
     "execute. There are several options for building PMI support under\n"
     "SLURM, depending upon the SLURM version you are using:"},
    // run: PyTorch 1.13.0
    {"rank-not-set",
     "ValueError: Error initializing torch.distributed using env:// rendezvous: environment "
     "variable RANK expected, but not set"},
    {"no-process-group",
     "ValueError: Default process group has not been initialized, please make sure to call "
     "init_process_group."},  // PyTorch 2.15.0
    {"no-process-group",
     "RuntimeError: Default process group has not been initialized, please make sure to call "
     "init_process_group."},
    // deepspeedai/DeepSpeed#6914
    {"deepspeed-batch-size",
     "[rank0]: AssertionError: Check batch related parameters. train_batch_size is not equal to "
     "micro_batch_per_gpu * gradient_acc_step * world_size 8 != 2 * 1 * 1 "},
    // NVIDIA-NeMo/Speech#11480, THUDM/slime#1818
    {"world-size-not-divisible", "[rank0]: RuntimeError: world_size (1) is not divisible by 2"},
    {"world-size-not-divisible",
     "RuntimeError: world_size (8) is not divisible by expert_tensor_model_pipeline_parallel size "
     "(16)"},
    // pytorch/pytorch#16417, YingqianWang/iPASSR#9
    {"gpu-out-of-memory",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a "
     "total capacity of 23.65 GiB of which 11.06 MiB is free. Including non-PyTorch memory, this "
     "process has 23.60 GiB memory in use."},
    {"gpu-out-of-memory",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 10.73 GiB (GPU 0; 8.00 "
     "GiB total capacity; 17.20 GiB already allocated; 0 bytes free; 19.15 GiB reserved in total "
     "by PyTorch)"},
    // google-deepmind/alphafold#197, google-deepmind/alphafold#1023
    {"gpu-driver-out-of-memory",
     "2021-10-15 15:01:44.577626: E "
     "external/org_tensorflow/tensorflow/stream_executor/cuda/cuda_driver.cc:764] failed to alloc "
     "2740606464 bytes unified memory; result: CUDA_ERROR_OUT_OF_MEMORY: out of memory"},
    // taohan10200/IIM#28; deepbeepmeep/Wan2GP#1083
    {"cuda-out-of-memory",
     "RuntimeError: CUDA error: out of memory\n"
     "CUDA kernel errors might be asynchronously reported at some other API call,so the stacktrace "
     "below might be incorrect.\n"
     "For debugging consider passing CUDA_LAUNCH_BLOCKING=1."},
    {"cuda-out-of-memory", "torch.AcceleratorError: CUDA error: out of memory"},
    // NVIDIA/nccl#1235; openxla/xla#7201
    {"nccl-out-of-memory",
     "ng30903:3063028:3066152 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'\n\n"
     "ng30903:3063028:3066152 [3] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 6291456 "
     "bytes\n"
     "ng30903:3063028:3066152 [3] NCCL INFO transport/p2p.cc:204 -> 1"},
    {"nccl-out-of-memory",
     "NCCL operation ncclCommInitRank(&comm, nranks, id, rank) failed: unhandled cuda error (run "
     "with NCCL_DEBUG=INFO for details). Last NCCL warning(error) log entry (may be unrelated) "
     "'Cuda failure 2 'out of memory''.; current tracing scope: all-reduce-start.285; current "
     "profiling annotation: XlaModule:#hlo_module=pjit__wrapped_step_fn,program_id=25#."},
    {"xla-out-of-memory",
     "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
     "allocate 7406166528 bytes."},
    // Lornatang/RFB_ESRGAN-PyTorch#5
    {"cublas-no-memory",
     "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"},
    // open-mmlab/mmdeploy#87
    {"cudnn-not-initialized", "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"},
    // zai-org/ChatGLM3#681
    {"gpu-memory-error", "RuntimeError: CUDA error: uncorrectable ECC error encountered"},
    // NVIDIA/NVSentinel#155
    {"gpu-off-the-bus", "NVRM: Xid (PCI:0000:44:00): 79, GPU has fallen off the bus"},
    // JosephKJ/OWOD#81
    {"gpu-lost",
     "Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost. Reboot the system "
     "to recover this GPU"},
    // MIC-DKFZ/nnUNet#1519, ultralytics/ultralytics#24536, huggingface/huggingface_hub#4134
    {"gpu-nvlink-error",
     "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution"},
    {"gpu-peer-memory",
     "[rank5]: RuntimeError: CUDA error: Invalid access of peer GPU memory over nvlink or a "
     "hardware error"},
    {"gpu-fabric-not-ready",
     "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions "
     "before calling NumCudaDevices() that might have already set an error? Error 802: system not "
     "yet initialized"},
    // 3dlg-hcvc/multi3drefer#14
    {"gpu-illegal-access",
     "RuntimeError: CUDA error: an illegal memory access was encountered\n"
     "CUDA kernel errors might be asynchronously reported at some other API call, so the "
     "stacktrace below might be incorrect.\n"
     "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.\n"
     "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."},
    // WangYueFt/dcp#30
    {"gpu-device-assert",
     "RuntimeError: CUDA error: device-side assert triggered\n"
     "CUDA kernel errors might be asynchronously reported at some other API call, so the "
     "stacktrace below might be incorrect.\n"
     "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.\n"
     "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."},
    // Acly/krita-ai-diffusion#930
    {"gpu-launch-failure", "RuntimeError: CUDA error: unspecified launch failure"},
    // pytorch/pytorch#100691, ZhengZerong/PaMIR#17
    {"gpu-busy", "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable"},
    {"gpu-busy", "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable"},
    // microsoft/SimXNS#2
    {"gpu-not-visible", "RuntimeError: CUDA error: invalid device ordinal"},
    // nv-tlabs/SCube#7
    {"gpu-wrong-architecture",
     "RuntimeError: CUDA error: no kernel image is available for execution on the device"},
    // nagadomi/nunif#702
    {"gpu-driver-insufficient",
     "RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version"},
    // serend1p1ty/SeqNet#36
    {"gpu-driver-too-old",
     "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please "
     "update your GPU driver by downloading and installing a new version from the URL: "
     "http://www.nvidia.com/Download/index.aspx Alternatively, go to: https://pytorch.org to "
     "install a PyTorch version that has been compiled with your version of the CUDA driver."},
    // intel/llvm#17614
    {"gpu-driver-mismatch",
     "Failed to initialize NVML: Driver/library version mismatch\n"
     "NVML library version: 550.144"},
    // princeton-nlp/SimCSE#244
    {"gpu-no-driver",
     "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA "
     "GPU and installed a driver from http://www.nvidia.com/Download/index.aspx"},
    // xianlin7/SAMUS#39
    {"gpu-none", "RuntimeError: No CUDA GPUs are available"},
    // run: PyTorch 1.13.0
    {"torch-without-cuda", "AssertionError: Torch not compiled with CUDA enabled"},
    {"torch-without-nccl", "RuntimeError: Distributed package doesn't have NCCL built in"},
    // OpenGVLab/Ask-Anything#242
    {"cuda-after-fork",
     "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
     "multiprocessing, you must use the 'spawn' start method"},
    // rgommers/pixi-dev-scipystack#1
    {"jax-no-backend",
     "RuntimeError: Backend 'cuda' failed to initialize: Unable to use CUDA because of the "
     "following issues with CUDA components:\n"
     "Outdated cuDNN installation found."},
    // run: PyTorch 1.13.0 with 64 KiB of /dev/shm
    {"shared-memory-too-small",
     "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
     "shared memory (shm).\n"
     "Traceback (most recent call last):\n"
     "  File \"/usr/lib/python3.11/queue.py\", line 180, in get\n"
     "    self.not_empty.wait(remaining)\n"
     "RuntimeError: DataLoader worker (pid 6930) is killed by signal: Bus error. It is possible "
     "that dataloader's workers are out of shared memory. Please try to raise your shared memory "
     "limit.\n"
     "\n"
     "The above exception was the direct cause of the following exception:\n"
     "\n"
     "Traceback (most recent call last):\n"
     "  File \"train.py\", line 5, in <module>\n"
     "    for _ in d.DataLoader(D(),num_workers=1): pass\n"
     "RuntimeError: DataLoader worker (pid(s) 6930) exited unexpectedly"},
    // run: PyTorch 2.15.0 with 64 KiB of /dev/shm
    {"torch-shared-memory",
     "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\n"
     "Original Traceback (most recent call last):\n"
     "RuntimeError: unable to allocate shared memory(shm) for file </torch_2901_145179007_0>: No "
     "space left on device (28)"},
    // run: PyTorch 1.13.0
    {"data-loader-killed",
     "RuntimeError: DataLoader worker (pid 3834) is killed by signal: Killed. \n"
     "\n"
     "The above exception was the direct cause of the following exception:\n"
     "\n"
     "Traceback (most recent call last):\n"
     "  File \"train.py\", line 5, in <module>\n"
     "    next(iter(d.DataLoader(D(),num_workers=1)))\n"
     "RuntimeError: DataLoader worker (pid(s) 3834) exited unexpectedly"},
    {"data-loader-exited", "RuntimeError: DataLoader worker (pid(s) 1724) exited unexpectedly"},
    {"torch-host-memory",
     "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't "
     "allocate memory: you tried to allocate 4503599627370496 bytes. Error code 12 (Cannot "
     "allocate memory)"},
    // run: Python 3.11.2, NumPy 1.24.2, libstdc++ of GCC 12.2.0
    {"python-memory",
     "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nMemoryError"},
    {"python-memory",
     "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 1.00 EiB for an array with "
     "shape (144115188075855872,) and data type float64"},
    {"cpp-memory",
     "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
     killed_by(SIGABRT)},
    // run: Python 3.11.2
    {"too-many-open-files", "OSError: [Errno 24] Too many open files: '/dev/null'"},
    // lzccccc/SMOKE#21
    {"data-loader-open-files", "RuntimeError: received 0 items of ancdata"},
    {"too-many-threads", "RuntimeError: can't start new thread"},
    // MIC-DKFZ/nnUNet#1343
    {"openblas-threads",
     "OpenBLAS blas_thread_init: pthread_create failed for thread 50 of 64: Resource temporarily "
     "unavailable\n"
     "OpenBLAS blas_thread_init: RLIMIT_NPROC 4096 current, 513046 max"},
    // run: bash 5.2.15, Python 3.11.2
    {"too-many-processes", "bash: fork: Resource temporarily unavailable"},
    {"too-many-processes",
     "Traceback (most recent call last):\n"
     "  File \"train.py\", line 3, in <module>\n"
     "    os.fork()\n"
     "BlockingIOError: [Errno 11] Resource temporarily unavailable"},
    // acidvegas/elastop#16
    {"glibc-too-old",
     "./elastop: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by "
     "./elastop)"},
    // run: glibc 2.36, Python 3.11.2
    {"undefined-symbol", "./m: symbol lookup error: ./libf.so: undefined symbol: g", code(127)},
    {"undefined-symbol", "ImportError: /srv/job/ext.so: undefined symbol: g"},
    {"shared-library-missing",
     "./m: error while loading shared libraries: libf.so: cannot open shared object file: No such "
     "file or directory",
     code(127)},
    {"shared-library-missing",
     "OSError: libcudart.so.11.0: cannot open shared object file: No such file or directory"},
    // GISloser in matterport/Mask_RCNN#3063
    {"numpy-binary",
     "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from "
     "C header, got 88 from PyObject"},
    // jupyter/notebook#7522
    {"numpy-1-module",
     "ImportError: \n"
     "A module that was compiled using NumPy 1.x cannot be run in\n"
     "NumPy 2.0.0 as it may crash. To support both 1.x and 2.x\n"
     "versions of NumPy, modules must be compiled with NumPy 2.0.\n"
     "Some module may need to rebuild instead e.g. with 'pybind11>=2.12'."},
    // run: bash 5.2.15, Python 3.11.2; a program for AArch64
    {"exec-format", "bash: line 1: ./arm: cannot execute binary file: Exec format error",
     code(126)},
    {"exec-format", "OSError: [Errno 8] Exec format error"},
    // run: coreutils 9.1, bash 5.2.15
    {"windows-line-ends",
     "/usr/bin/env: 'python3\\r': No such file or directory\n"
     "/usr/bin/env: use -[v]S to pass options in shebang lines",
     code(127)},
    {"windows-line-ends", "c4: line 1: cd: $'/srv\\r': No such file or directory"},
    {"interpreter-missing", "bash: line 1: ./crlf: cannot execute: required file not found",
     code(127)},
    // run: PyTorch 1.13.0
    {"cuda-home-missing",
     "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install "
     "root."},
    {"ninja-missing", "RuntimeError: Ninja is required to load C++ extensions"},
    // run: Python 3.8.18
    {"python-too-old", "TypeError: unsupported operand type(s) for |: 'type' and 'NoneType'"},
    // run: Python 3.11.2
    {"module-missing", "ModuleNotFoundError: No module named 'apex_none'"},
    {"module-missing", "/usr/bin/python3: No module named nosuch_mod"},
    {"ascii-locale",
     "UnicodeEncodeError: 'ascii' codec can't encode character '\\xe9' in position 0: ordinal not "
     "in range(128)"},
    // zengy5 in gaomingqi/Track-Anything#103
    {"checkpoint-truncated",
     "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central "
     "directory"},
    // datalab-to/marker#970
    {"safetensors-truncated",
     "safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, "
     "file not fully covered"},
    // run: PyTorch 1.13.0
    {"pickle-empty", "EOFError: Ran out of input"},
    {"checkpoint-of-other-model",
     "RuntimeError: Error(s) in loading state_dict for Linear:\n"
     "\tsize mismatch for weight: copying a param with shape torch.Size([3, 2]) from checkpoint, "
     "the shape in current model is torch.Size([2, 2])."},
    // run: PyTorch 2.15.0 on a full tmpfs
    {"checkpoint-not-written",
     "RuntimeError: [enforce fail at inline_container.cc:671] . unexpected pos 576 vs 534"},
    // run: Python 3.11.2, coreutils 9.1
    {"disk-full", "OSError: [Errno 28] No space left on device"},
    {"disk-full", "cp: error writing '/dev/full': No space left on device"},
    // tloen/alpaca-lora#280
    {"quota-exceeded", "OSError: [Errno 122] Disk quota exceeded"},
    // run: Python 3.11.2, coreutils 9.1
    {"read-only-file-system", "OSError: [Errno 30] Read-only file system: 'ro/x'"},
    {"read-only-file-system", "touch: cannot touch 'ro/x': Read-only file system"},
    // huggingface/transformers#9732
    {"stale-file-handle", "OSError: [Errno 116] Stale file handle"},
    // TurboGit/hubicfuse#98
    {"file-system-gone",
     "cp: cannot stat '/mnt/hubic/default/test/logo.jpg': Transport endpoint is not connected"},
    // whwu95/Text4Vis#6
    {"input-output-error",
     "OSError: [Errno 5] Input/output error: "
     "'/opt/data/private/dataset/k400_frame/train/auctioning/97nosiYXJm8_000087_000097'"},
    // CASIA-LMC-Lab/FiLo#10
    {"hub-unreachable",
     "OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find "
     "it in the cached files and it looks like bert-base-uncased is not the path to a directory "
     "containing a file named config.json."},
    // yuruotong1/autoMate#104
    {"hub-not-cached",
     "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate "
     "the file on the Hub and we cannot find the requested files in the local cache. Please check "
     "your connection and try again or make sure your Internet connection is on."},
    // run: Python 3.11.2
    {"certificate-rejected",
     "urllib.error.URLError: <urlopen error [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify "
     "failed: self-signed certificate (_ssl.c:992)>"},
    {"name-unknown", "socket.gaierror: [Errno -2] Name or service not known"},
    // SpencerKD in langgenius/dify#26954
    {"name-service-fails",
     "Request to url http://23.32.43.22:7832/pl/df/xxxxxx failed on attempt 1: [Errno-3] "
     "Temporary failure in name resolution"},
    // run: Python 3.11.2
    {"no-route", "OSError: [Errno 113] No route to host"},
    // alvinliu0/HumanGaussian#4
    {"network-unreachable",
     "requests.exceptions.ConnectionError: (MaxRetryError(\"HTTPSConnectionPool("
     "host='huggingface.co', port=443): Max retries exceeded with url: "
     "/stabilityai/stable-diffusion-2-base/resolve/main/tokenizer/config.json (Caused by "
     "NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7f80afce3400>: Failed "
     "to establish a new connection: [Errno 101] Network is unreachable'))\"), '(Request ID: "
     "33cda6e5-6601-4ed8-abcc-296d8b9a2b32)')"},
    // run: Python 3.11.2, PyTorch 1.13.0
    {"connection-refused", "ConnectionRefusedError: [Errno 111] Connection refused"},
    {"address-in-use", "OSError: [Errno 98] Address already in use"},
    {"address-in-use",
     "RuntimeError: The server socket has failed to listen on any local network address. The "
     "server socket has failed to bind to [::]:47473 (errno: 98 - Address already in use). The "
     "server socket has failed to bind to 0.0.0.0:47473 (errno: 98 - Address already in use)."},
    // run: PyTorch 2.15.0, Python 3.11.2
    {"address-in-use",
     "torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
     "network address. port: 39159, useIpv6: false, code: -98, name: EADDRINUSE, message: address "
     "already in use"},
    {"address-of-other-host", "OSError: [Errno 99] Cannot assign requested address"},
    {"permission-denied", "PermissionError: [Errno 13] Permission denied: '/root/x'"},
    {"permission-denied", "bash: line 1: ./noexec: Permission denied", code(126)},
    {"file-missing", "FileNotFoundError: [Errno 2] No such file or directory: '/data/x'"},
    {"file-missing", "cat: nofile: No such file or directory"},
    {"file-missing",
     "/usr/bin/python3: can't open file '/srv/job/train.py': [Errno 2] No such file or directory",
     code(2)},
    // Lcornet in marbl/canu#1052
    {"slurm-time-limit",
     "slurmstepd: error: *** JOB 3884617 ON node023 CANCELLED AT 2018-08-19T16:30:21 DUE TO TIME "
     "LIMIT ***",
     killed_by(SIGTERM)},
    // run: Python 3.11.2 with -X faulthandler
    {"python-crashed",
     "Fatal Python error: Segmentation fault\n\n"
     "Current thread 0x00007f76e5a2d040 (most recent call first):",
     killed_by(SIGSEGV)},
    // run: how programs ended
    {"segmentation-fault", "", killed_by(SIGSEGV)},
    {"segmentation-fault", "line 3: 31159 Segmentation fault      ./train", code(128 + SIGSEGV)},
    {"bus-error", "", killed_by(SIGBUS)},
    {"illegal-instruction", "line 17:  3716 Illegal instruction     ./i", code(128 + SIGILL)},
    {"cpu-time-limit", "", killed_by(SIGXCPU)},
    {"file-size-limit", "", killed_by(SIGXFSZ)},
    {"mpi-not-finalized", "", {false, 0, false, "", MpiEnd::not_finalized}},
};

std::string name_of_row(const Evidence& evidence, const ExitStatus& status) {
  const KnownFailure* row = find_known_failure(evidence, &status);
  return row == nullptr ? "" : std::string(row->name);
}

// A row that shadows a later one takes that one's message.
TEST(KnownFailures, EachRowFitsRealMessagesAndHidesNoOther) {
  std::set<std::string> tried;
  for (const Message& message : kMessages) {
    EXPECT_EQ(name_of_row(find_evidence(message.text), message.status), message.name)
        << message.text;
    const auto own = find_own_message(message.text);
    EXPECT_FALSE(own && own->row->certain) << message.text << '\n' << own->row->text;
    if (message.text.find('\n') == std::string::npos && !message.text.empty()) {
      Evidence evidence;
      evidence.exception = message.text;
      EXPECT_EQ(name_of_row(evidence, message.status), message.name) << message.text;
    }
    tried.insert(message.name);
  }
  for (const KnownFailure& row : known_failures())
    EXPECT_TRUE(tried.contains(std::string(row.name))) << "no message for: " << row.name;
}

TEST(KnownFailures, RowsAreWellFormed) {
  std::set<std::string_view> names;
  for (const KnownFailure& row : known_failures()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands twice";
    EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
              std::string_view::npos)
        << row.name;
    EXPECT_TRUE(!row.pattern.empty() || row.ended != nullptr) << row.name << " fits everything";
    EXPECT_FALSE(row.why.empty()) << row.name;
    EXPECT_FALSE(row.why.ends_with('.')) << row.name;
    EXPECT_FALSE(row.advice.empty()) << row.name;
    EXPECT_LE(row.advice.size(), 100U) << row.name;
  }
  EXPECT_GE(names.size(), 40U);
}

// What programs print that go on and end well, and then fail for a reason of their own.
TEST(KnownFailures, HarmlessOutputFitsNoRow) {
  for (
      const char* text : {
          "",
          "epoch 3: 100%|##########| 391/391 [00:12<00:00, 31.2it/s, loss=0.412]",
          // NVIDIA/nccl-tests#188
          "user:852750:852750 [0] NCCL INFO NET/Plugin : Plugin load (libnccl-net.so) returned 2 : "
          "libnccl-net.so: cannot open shared object file: No such file or directory",
          // KosinskiLab/AlphaPulldown#237
          "2024-01-05 14:04:57.610604: W tensorflow/core/common_runtime/gpu/gpu_device.cc:2256] "
          "Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned "
          "above are installed properly if you would like to use GPU.",
          // ikostrikov/walk_in_the_park#5
          "I0919 21:58:29.074738 139995721590592 xla_bridge.py:350] Unable to initialize backend "
          "'tpu_driver': NOT_FOUND: Unable to find driver in registry given worker: ",
          // run: PyTorch 1.13.0
          "WARNING:__main__:\n*****************************************\n"
          "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to "
          "avoid your system being overloaded, please further tune the variable for optimal "
          "performance in your application as needed. \n"
          "*****************************************",
          "W20261123 22:59:47.444655  1180 socket.cpp:601] [c10d] The IPv6 network addresses of "
          "(no-such-host.invalid, 29871) cannot be retrieved (gai error: -2 - Name or service not "
          "known).",
          "/usr/lib/python3/dist-packages/torch/functional.py:504: UserWarning: torch.meshgrid: in "
          "an upcoming release, it will be required to pass the indexing argument. (Triggered "
          "internally at  ./aten/src/ATen/native/TensorShape.cpp:3190.)",
          // of programs of their own
          "AssertionError",
          "ValueError: loss is nan at step 5",
          "KeyError: 'labels'",
      }) {
    EXPECT_EQ(name_of_row(find_evidence(text), code(1)), "") << text;
    EXPECT_EQ(find_peer_loss(find_evidence(text)), nullptr) << text;
  }
}

TEST(KnownFailures, LinesBeforeAnExceptionDoNotExplainIt) {
  const Evidence evidence = find_evidence(
      "cat: nofile: No such file or directory\n"
      "Traceback (most recent call last):\n"
      "  File \"train.py\", line 7, in <module>\n"
      "    raise ValueError('bad batch')\n"
      "ValueError: bad batch\n");
  EXPECT_EQ(name_of_row(evidence, code(1)), "");
}

TEST(KnownFailures, ACauseOnTheNodeIsNotALostPeer) {
  const Evidence evidence = find_evidence(
      "Traceback (most recent call last):\n"
      "  File \"train.py\", line 7, in <module>\n"
      "    dist.all_reduce(x)\n"
      "torch.distributed.DistBackendError: NCCL error in: "
      "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1269, unhandled system error (run with "
      "NCCL_DEBUG=INFO for details), NCCL version 2.19.3\n"
      "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or "
      "device error. \n"
      "Last error:\n"
      "Error while creating shared memory segment /dev/shm/nccl-NzwJ7O (size 9637888)\n");
  EXPECT_EQ(name_of_row(evidence, code(1)), "nccl-shared-memory");
  EXPECT_EQ(find_peer_loss(evidence), nullptr);
}

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

// The documentation lists the table.
TEST(KnownFailures, TheReferenceHasEachRow) {
  std::ifstream file(DLAUNCH_DOCS "/reference/messages.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const KnownFailure& row : known_failures()) {
    const std::string line =
        "| `" + std::string(row.name) + "` | " + cell(row.why) + " | " + cell(row.advice) + " |\n";
    EXPECT_NE(text.str().find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace dlaunch
