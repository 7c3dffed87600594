#include "os/pid_namespace.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(NamespaceAdvice, NamesTheSwitchThatForbidsIt) {
  // user_namespaces(7), namespaces(7): ENOSPC where a limit of /proc/sys/user is reached.
  EXPECT_EQ(namespace_advice("unshare", ENOSPC, {0, -1, -1}),
            "set sysctl user.max_user_namespaces above 0, or leave isolation out");
  EXPECT_EQ(namespace_advice("unshare", ENOSPC, {100, -1, -1}),
            "raise sysctl user.max_user_namespaces and user.max_pid_namespaces (one of these "
            "limits is reached), or leave isolation out");
  EXPECT_EQ(namespace_advice("unshare", EPERM, {100, 0, -1}),
            "set sysctl kernel.unprivileged_userns_clone to 1, or leave isolation out");
  EXPECT_EQ(namespace_advice("mount /proc", EACCES, {100, 1, 1}),
            "set sysctl kernel.apparmor_restrict_unprivileged_userns to 0, or leave isolation out");
  EXPECT_EQ(namespace_advice("mount /proc", EPERM, {100, -1, 0}),
            "give the container an unmasked /proc, or leave isolation out");
  EXPECT_EQ(
      namespace_advice("unshare", EPERM, {100, -1, -1}),
      "allow namespaces (or grant CAP_SYS_ADMIN) in this sandbox or container, or leave isolation "
      "out");
  EXPECT_EQ(namespace_advice("unshare", EINVAL, {}),
            "leave isolation out: this kernel has no PID or user namespaces");
}

}  // namespace
}  // namespace dlaunch
