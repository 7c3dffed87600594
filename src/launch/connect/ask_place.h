// Where what ssh asks comes to: a unix socket that only this user can reach.
#pragma once

#include <string>
#include <utility>

#include "os/unique_fd.h"

namespace dlaunch {

/// The socket goes with the object; its folder too, where it was made for it alone.
class AskPlace {
 public:
  /// In BASE/dlaunch-UID, where sockets that a killed launcher has left for a minute or longer are
  /// removed; if that folder is not ours alone, in one of its own.
  [[nodiscard]] static AskPlace open(const std::string& base = "/tmp");

  AskPlace(AskPlace&& other) noexcept
      : listener_(std::move(other.listener_)),
        path_(std::exchange(other.path_, {})),
        own_folder_(std::exchange(other.own_folder_, {})) {}
  AskPlace& operator=(AskPlace&&) = delete;
  ~AskPlace();

  /// Listening, SOCK_SEQPACKET; invalid: there is no place. To be taken once.
  [[nodiscard]] UniqueFd take_listener() { return std::move(listener_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  AskPlace() = default;

  UniqueFd listener_;
  std::string path_;        // empty: none
  std::string own_folder_;  // empty: it is in that of the user
};

}  // namespace dlaunch
