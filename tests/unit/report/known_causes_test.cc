// Real messages of libraries whose peer was gone: from runs, and from issue trackers.
#include "report/known_causes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace dlaunch {
namespace {

struct Message {
  std::string pattern;
  std::string text;
};

const std::vector<Message> kMessages{
    {"Connection closed by peer",  // PyTorch 1.13
     "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer "
     "[127.0.0.1]:2466"},
    {"Connection closed by peer",  // PyTorch 2.15
     "RuntimeError: [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:561] "
     "Connection closed by peer [127.0.0.1]:37262. This is typically caused by a remote worker "
     "crashing. Check the logs of the remote worker before reporting an error. GLHF"},
    {"Connection reset by peer",
     "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:589] Read error "
     "[192.168.70.92]:25266: Connection reset by peer"},
    {"Connection reset by peer", "RuntimeError: Connection reset by peer"},  // TCPStore, 1.x
    {"Broken pipe",
     "torch.distributed.DistNetworkError: sendBytes failed on SocketImpl(fd=67, "
     "addr=[bogon]:36214, remote=[bogon]:43145): Broken pipe"},
    {"Connection closed by remote peer",
     "a100-22:183006:183181 [1] misc/socket.cc:538 NCCL WARN Net : Connection closed by remote "
     "peer a100-22.pcluster<47861>"},
    {"Connection reset by remote peer",
     "ucp._libs.exceptions.UCXConnectionReset: <stream_recv>: "
     "Connection reset by remote peer"},
    {"remote process exited",
     "torch.distributed.DistBackendError: NCCL error in: "
     "/pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:268, remote process exited or there was "
     "a network error, NCCL version 2.21.5"},
    {"ncclRemoteError",
     "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
     "prematurely."},
    {"ncclSystemError",
     "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or "
     "device error."},
    {"unhandled system error",
     "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1269, "
     "unhandled system error, NCCL version 2.14.3"},
    {"ecv, got 0 bytes",
     "torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving "
     "ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: "
     "failed to recv, got 0 bytes"},
    {"The client socket has failed to connect",
     "torch.distributed.DistNetworkError: The client socket has failed to connect to any network "
     "address of (node0, 29500)."},
    {"The client socket has timed out",
     "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while "
     "trying to connect to (node0, 29500)."},
    {"clients joined",
     "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/4 "
     "clients joined."},
    {"wait timeout after",
     "torch.distributed.DistStoreError: wait timeout after 300000ms, keys: "
     "/default_pg/0//cuda//0"},
    {"Timed out waiting",
     "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out "
     "waiting 1800000ms for recv operation to complete"},
    {"Watchdog caught collective operation timeout",
     "[rank1]:[E ProcessGroupNCCL.cpp:475] [Rank 1] Watchdog caught collective operation timeout: "
     "WorkNCCL(SeqNum=1173, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for "
     "1800866 milliseconds before timing out."},
    {"JAX distributed service detected fatal errors",
     "Terminating process because the JAX distributed service detected fatal errors. This most "
     "likely indicates that another task died; see the other task logs for more details."},
    {"coordination service",
     "Failed to send RPC to coordination service. Either the leader task was "
     "preempted/died/restarted unexpectedly or this task is experiencing network issues."},
    {"stopped sending heartbeats",
     "jaxlib.xla_extension.XlaRuntimeError: ABORTED: The following tasks are unhealthy (stopped "
     "sending heartbeats): /job:jax_worker/replica:0/task:1"},
    {"Barrier timed out",
     "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: "
     "PjRT_Client_Connect::0"},
    {"UnavailableError",
     "tensorflow.python.framework.errors_impl.UnavailableError: Graph execution error: Socket "
     "closed"},
    {"UNAVAILABLE: ", "jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: Socket closed"},
    {"failed to connect to all addresses",
     "grpc._channel._InactiveRpcError: failed to connect to all addresses; last error: UNKNOWN: "
     "ipv4:10.0.0.2:2222: Failed to connect to remote host"},
    {"Collective ops is aborted by",
     "tensorflow.python.framework.errors_impl.AbortedError: Collective ops is aborted by: "
     "Collective ops is aborted by: Socket closed"},
    {"Horovod has been shut down",
     "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was caused "
     "by an exception on one of the ranks or an attempt to allreduce, allgather or broadcast a "
     "tensor after one of the ranks finished execution."},
    {"MPI communication peer process has unexpectedly disconnected",
     "An MPI communication peer process has unexpectedly disconnected.  This"},
    {"Communication error with rank",
     "MPID_nem_tcp_connpoll(1826): Communication error with rank 1: Connection refused"},
    {"MPI_ERR_PROC_FAILED", "mpi4py.MPI.Exception: MPI_ERR_PROC_FAILED: Process Failure"},
};

TEST(PeerLoss, EachRowFitsARealMessage) {
  std::set<std::string> tried;
  for (const Message& message : kMessages) {
    Evidence evidence;
    evidence.exception = message.text;
    const PeerLoss* row = find_peer_loss(evidence);
    ASSERT_NE(row, nullptr) << message.text;
    EXPECT_EQ(row->pattern, message.pattern) << message.text;
    EXPECT_FALSE(row->means.empty());
    tried.insert(message.pattern);
  }
  for (const PeerLoss& row : peer_losses()) {
    EXPECT_TRUE(tried.contains(std::string(row.pattern))) << "no message for: " << row.pattern;
  }
}

TEST(PeerLoss, AnErrorOfItsOwnIsNone) {
  for (const char* text :
       {"RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB",
        "ValueError: loss is nan at step 5", "AssertionError",
        "torch.distributed.DistBackendError: NCCL error in: "
        "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1331, unhandled cuda error",
        "horovod.common.exceptions.HorovodInternalError: Mismatched data types: One rank had type "
        "float32, but another rank had type float64."}) {
    Evidence evidence;
    evidence.exception = text;
    EXPECT_EQ(find_peer_loss(evidence), nullptr) << text;
  }
}

TEST(PeerLoss, LinesCountOnlyWithoutAnException) {
  Evidence evidence;
  evidence.last_lines = {"An MPI communication peer process has unexpectedly disconnected.  This",
                         "usually indicates a failure in the peer process"};
  EXPECT_NE(find_peer_loss(evidence), nullptr);
  evidence.exception = "ValueError: bad batch";
  EXPECT_EQ(find_peer_loss(evidence), nullptr);
  evidence.exception.reset();
  evidence.last_lines.insert(evidence.last_lines.end(), 30, "step");
  EXPECT_EQ(find_peer_loss(evidence), nullptr) << "that was long before the end";
}

}  // namespace
}  // namespace dlaunch
