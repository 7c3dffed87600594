// planted KIND: does what a sanitizer has to notice. A build whose sanitizer is off, or goes on
// after a finding, exits with 0 here and so fails tests/sanitizers.
#include <climits>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

namespace {

/// Neither the compiler nor its optimizer knows the value.
template <class Value>
Value opaque(Value value) {
  volatile Value hidden = value;
  return hidden;
}

void overflow() {
  const int sum = INT_MAX - 1 + opaque(2);
  std::printf("%d\n", sum);
}

void overrun() {
  std::vector<char> buffer(static_cast<std::size_t>(opaque(8)));
  std::memset(buffer.data(), 'x', static_cast<std::size_t>(opaque(9)));
}

void leak() {
  static char* volatile block = nullptr;
  block = new char[100];
  block = nullptr;
}

void race() {
  volatile int counter = 0;
  const auto count = [&counter] {
    for (int i = 0; i < 1000; ++i) counter = counter + 1;
  };
  std::thread other(count);
  count();
  other.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc == 2 ? argv[1] : "";
  if (kind == "overflow") overflow();
  if (kind == "overrun") overrun();
  if (kind == "leak") leak();
  if (kind == "race") race();
  std::puts("not noticed so far");
  return 0;
}
