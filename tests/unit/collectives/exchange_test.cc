// The exchange of a few bytes over PMI_FD. The server here answers a single rank; the real one is
// tested with real ranks in tests/collectives.
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure/collectives/exchange.h"

namespace dlaunch::collectives {
namespace {

TEST(Exchange, FieldsOfALine) {
  const std::string_view line = "cmd=get_result rc=0 msg=success value=ab=cd";
  EXPECT_EQ(field_of(line, "cmd"), "get_result");
  EXPECT_EQ(field_of(line, "value"), "ab=cd");
  EXPECT_EQ(field_of(line, "val"), "");
  EXPECT_EQ(field_of("", "cmd"), "");
}

TEST(Exchange, BytesOfAnyValueAsText) {
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  EXPECT_EQ(bytes_of(hex_of(bytes)), bytes);
  EXPECT_EQ(hex_of("\x01\xff"), "01ff");
  EXPECT_EQ(bytes_of("0"), "");
  EXPECT_EQ(bytes_of("0g"), "");
}

/// Answers line by line until the other end closes the connection.
void serve(int socket) {
  std::string unread;
  std::string value;
  char bytes[256];
  ssize_t n = 0;
  while ((n = ::read(socket, bytes, sizeof bytes)) > 0) {
    unread.append(bytes, static_cast<std::size_t>(n));
    for (std::size_t end = 0; (end = unread.find('\n')) != std::string::npos;
         unread.erase(0, end + 1)) {
      const std::string line = unread.substr(0, end);
      const std::string_view cmd = field_of(line, "cmd");
      std::string answer = "cmd=finalize_ack";
      if (cmd == "init") answer = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
      if (cmd == "get_my_kvsname") answer = "cmd=my_kvsname kvsname=space";
      if (cmd == "put") value = field_of(line, "value"), answer = "cmd=put_result rc=0 msg=success";
      if (cmd == "barrier_in") answer = "cmd=barrier_out";
      if (cmd == "get") answer = "cmd=get_result rc=0 msg=success value=" + value;
      answer += '\n';
      EXPECT_EQ(::write(socket, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    }
  }
}

TEST(Exchange, BytesOfRankZero) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ::setenv("PMI_FD", std::to_string(ends[0]).c_str(), 1);
  ::setenv("PMI_RANK", "0", 1);
  ::setenv("PMI_SIZE", "1", 1);
  std::thread server(serve, ends[1]);
  {
    const auto exchange = Exchange::get(std::chrono::seconds(20));
    ASSERT_TRUE(exchange) << exchange.status().what();
    const std::string first("\0id\n", 4);
    const auto got = (*exchange)->broadcast(first);
    ASSERT_TRUE(got) << got.status().what();
    EXPECT_EQ(*got, first);
    EXPECT_EQ(*(*exchange)->broadcast("another"), "another");
    EXPECT_EQ(*(*exchange)->gather("own"), std::vector<std::string>{"own"});
  }
  ::shutdown(ends[1], SHUT_RDWR);
  server.join();
  ::close(ends[1]);
}

}  // namespace
}  // namespace dlaunch::collectives
