// A channel that NodeConnector is opening. Only its sources include this.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "launch/connect/binary_upload.h"
#include "launch/connect/channel_opening.h"
#include "launch/connect/node_connector.h"
#include "os/child_process.h"

namespace dlaunch {

/// Opening a channel takes one process or several, one after the other.
struct NodeConnector::Opening {
  NodeId node;
  Purpose purpose = Purpose::fresh;
  Opened done;
  MonotonicTime deadline{};
  Duration timeout{};

  int folder = -1;                // index of kFolders to stage to; -1: looks for a staged binary
  bool staging = false;           // the node was told to receive the binary
  bool has_waited = false;        // for another node to give it the binary
  MonotonicTime counted_until{};  // up to when that wait was counted
  bool is_fetching = false;       // the node was told to get the binary from another node
  std::string trouble;            // why earlier tries failed
  bool old_program = false;       // ConnectRequest::old_program of this process
  std::string master;             // ConnectRequest::master, likewise
  std::unique_ptr<Timer> master_limit;
  std::shared_ptr<ChildProcess> process;
  UniqueFd input;                        // its stdin
  std::unique_ptr<BinaryUpload> upload;  // over a duplicate of `input`
  std::unique_ptr<WatchedFd> output;
  std::optional<ChannelOpening> opening;
};

}  // namespace dlaunch
