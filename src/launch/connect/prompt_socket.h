// The unix socket that askpass processes connect to; only this user can reach it.
#pragma once

#include <string>
#include <utility>

#include "os/unique_fd.h"

namespace dlaunch {

/// The destructor removes the socket, and its folder if that was made only for it.
class PromptSocket {
 public:
  /// In BASE/dlaunch-UID, or in a new folder if others can write to that one. Removes sockets that
  /// a killed launcher left there at least a minute ago.
  [[nodiscard]] static PromptSocket open(const std::string& base = "/tmp");

  PromptSocket(PromptSocket&& other) noexcept
      : listener_(std::move(other.listener_)),
        path_(std::exchange(other.path_, {})),
        own_folder_(std::exchange(other.own_folder_, {})) {}
  PromptSocket& operator=(PromptSocket&&) = delete;
  ~PromptSocket();

  /// Listening, SOCK_SEQPACKET; invalid: none could be made. Call once.
  [[nodiscard]] UniqueFd take_listener() { return std::move(listener_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  PromptSocket() = default;

  UniqueFd listener_;
  std::string path_;        // empty: none
  std::string own_folder_;  // empty: the socket is in BASE/dlaunch-UID
};

}  // namespace dlaunch
