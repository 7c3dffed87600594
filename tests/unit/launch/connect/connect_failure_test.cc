#include "launch/connect/connect_failure.h"

#include <csignal>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using Kind = ConnectFailure::Kind;

ConnectEnd ended(int code, const std::string& errors, const std::string& said = "") {
  return {code << 8, "/usr/bin/ssh", errors, said};
}

struct Case {
  const char* errors;
  Kind kind;
  const char* text;
};

// The texts are those of OpenSSH 9.2, each produced with the fault in question.
TEST(ConnectFailure, SshsOwnWords) {
  const Case cases[] = {
      {"ssh: connect to host gpu12 port 22: Connection refused\r\n", Kind::final,
       "ssh: connect to host gpu12 port 22: Connection refused"},
      {"ssh: Could not resolve hostname gpu12: Name or service not known\r\n", Kind::final,
       "ssh: Could not resolve hostname gpu12: Name or service not known"},
      {"me@gpu12: Permission denied (publickey).\r\n", Kind::final,
       "ssh: me@gpu12: Permission denied (publickey)."},
      {"No ED25519 host key is known for gpu12 and you have requested strict checking.\r\nHost key "
       "verification failed.\r\n",
       Kind::final,
       "ssh: Host key verification failed. No ED25519 host key is known for gpu12 and you have "
       "requested strict checking."},
      {"Someone could be eavesdropping on you right now (man-in-the-middle attack)!\r\nHost key "
       "for gpu12 has changed and you have requested strict checking.\r\nHost key verification "
       "failed.\r\n",
       Kind::final,
       "ssh: Host key verification failed. Host key for gpu12 has changed and you have requested "
       "strict checking."},
      {"Host key verification failed.\r\n", Kind::final, "ssh: Host key verification failed."},
      {"Connection timed out during banner exchange\r\nConnection to 10.0.0.2 port 22 timed "
       "out\r\n",
       Kind::final, "ssh: Connection timed out during banner exchange"},
      // The site's banner, then the fault.
      {"********\nAuthorised use only\n********\nme@gpu12: Permission denied "
       "(publickey,password).\r\n",
       Kind::final, "ssh: me@gpu12: Permission denied (publickey,password)."},
      {"Warning: Permanently added 'gpu12' (ED25519) to the list of known hosts.\r\nConnection "
       "closed by 10.0.0.2 port 22\r\n",
       Kind::final, "ssh: Connection closed by 10.0.0.2 port 22"},
      // How MaxStartups shows.
      {"kex_exchange_identification: read: Connection reset by peer\r\nConnection reset by "
       "10.0.0.2 port 22\r\n",
       Kind::refused_for_now, "ssh: kex_exchange_identification: read: Connection reset by peer"},
      {"kex_exchange_identification: Connection closed by remote host\r\nConnection closed by "
       "10.0.0.2 port 22\r\n",
       Kind::refused_for_now, "ssh: kex_exchange_identification: Connection closed by remote host"},
      {"ssh_exchange_identification: Connection closed by remote host\r\n", Kind::refused_for_now,
       "ssh: ssh_exchange_identification: Connection closed by remote host"},
      // Through a bastion (ProxyJump): its own refusal, and that of the host behind it.
      {"kex_exchange_identification: Connection closed by remote "
       "host\r\nkex_exchange_identification: Connection closed by "
       "remote host\r\nConnection closed by UNKNOWN port 65535\r\n",
       Kind::refused_for_now, "ssh: kex_exchange_identification: Connection closed by remote host"},
      {"channel 0: open failed: connect failed: Connection refused\r\nstdio forwarding "
       "failed\r\nkex_exchange_identification: "
       "Connection closed by remote host\r\nConnection closed by UNKNOWN port 65535\r\n",
       Kind::final, "ssh: channel 0: open failed: connect failed: Connection refused"},
      {"ssh: connect to host bastion port 22: Connection refused\r\nkex_exchange_identification: "
       "Connection closed by remote "
       "host\r\nConnection closed by UNKNOWN port 65535\r\n",
       Kind::final, "ssh: connect to host bastion port 22: Connection refused"},
      {"", Kind::final, "ssh: ended with code 255 and no message"},
  };
  for (const Case& one : cases) {
    const ConnectFailure failure = ssh_failure(ended(255, one.errors));
    EXPECT_EQ(failure.kind, one.kind) << one.errors;
    EXPECT_EQ(failure.text, one.text);
  }
}

TEST(ConnectFailure, ALoginShellThatEndsInstead) {
  EXPECT_EQ(ssh_failure(ended(1, "", "This account is currently not available.")).text,
            "its login shell ended with code 1: This account is currently not available.");
  EXPECT_EQ(ssh_failure(ended(5, "closed\n")).text, "its login shell ended with code 5: closed");
  EXPECT_EQ(ssh_failure(ended(0, "")).text, "ssh: ended with code 0 and no message");
}

TEST(ConnectFailure, ACommandThatWasNeverRunIsToldWithWhatToTry) {
  ConnectEnd end = ended(0, "");
  end.by_hand = "ssh -- gpu12 echo hello";
  EXPECT_EQ(ssh_failure(end).text,
            "ssh: ended with code 0 and no message: the command for the node was not run; "
            "likely causes: an rc file there that ends the shell, or a forced command of its sshd; "
            "try: ssh -- gpu12 echo hello");
  end.wait_status = 255 << 8;  // an error of ssh itself, not of the node
  EXPECT_EQ(ssh_failure(end).text, "ssh: ended with code 255 and no message");
}

// A file that is empty, damaged or for another processor ends in many ways; no list of codes is
// complete.
TEST(ConnectFailure, WhatWasStartedAndSaidNothingIsWorthAnotherCopy) {
  for (const int code : {0, 1, 2, 70, 126, 127, 132, 135, 137, 139, 255}) {
    ConnectEnd end = ended(code, "");
    EXPECT_EQ(ssh_failure(end).kind, Kind::final) << code;
    end.started = true;
    EXPECT_EQ(ssh_failure(end).kind, Kind::cannot_execute) << code;
  }
  ConnectEnd broken = ended(255, "Timeout, server gpu12 not responding.\r\n");
  broken.started = true;
  EXPECT_EQ(ssh_failure(broken).kind, Kind::final);
}

TEST(ConnectFailure, HowItEndedIsSaid) {
  ConnectEnd end = ended(135, "");
  end.started = true;
  EXPECT_EQ(ssh_failure(end).text,
            "dlaunch was started there and was killed by SIGBUS before it answered");
  end = ended(126, "/bin/sh: 1: /x/dlaunch: Exec format error\n");
  end.started = true;
  EXPECT_EQ(ssh_failure(end).text,
            "dlaunch was started there and ended with code 126 before it answered: /bin/sh: 1: "
            "/x/dlaunch: Exec format error");
}

TEST(ConnectFailure, WhyANodeIsLate) {
  ConnectEnd end;
  EXPECT_EQ(why_late(end, false), "the host does not answer, or its login shell does not continue");
  end.last_line = "Press enter";
  EXPECT_EQ(why_late(end, false), "its login shell printed \"Press enter\" and does not continue");
  EXPECT_EQ(why_late(end, true), "dlaunch itself was still being copied there");
  end.started = true;
  EXPECT_EQ(why_late(end, true), "dlaunch was started there but did not answer");
  end.errors = "ssh: waiting for gpu12\n";
  EXPECT_EQ(why_late(end, false), "ssh: waiting for gpu12");
}

TEST(ConnectFailure, AKilledSsh) {
  EXPECT_EQ(ssh_failure({SIGKILL, "ssh", "", ""}).text, "ssh: was killed by SIGKILL");
}

TEST(ConnectFailure, TheEndOfAnOpenConnection) {
  EXPECT_EQ(ssh_end(ended(255, "Timeout, server gpu12 not responding.\r\n")).text,
            "its connection ended: ssh: Timeout, server gpu12 not responding.");
  EXPECT_EQ(ssh_end(ended(255, "")).text,
            "its connection ended: ssh: ended with code 255 and no message");
  EXPECT_EQ(ssh_end({SIGTERM, "ssh", "", ""}).text,
            "its connection ended: ssh: was killed by SIGTERM");
  EXPECT_EQ(ssh_end(ended(70, "dlaunch: pidfd_open: Function not implemented\n")).text,
            "its agent ended: pidfd_open: Function not implemented");
  EXPECT_EQ(ssh_end(ended(137, "")).text, "");  // the code says it
}

}  // namespace
}  // namespace dlaunch
