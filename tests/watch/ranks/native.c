/* native wait|spin FILE: stands still in functions that a test knows, or counts in FILE without end. */
#include <string.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>

static volatile unsigned long *counter;

__attribute__((noinline)) static int hidden_wait(int fd) {
  char byte;
  int n = (int)read(fd, &byte, 1);
  return n + 1;
}

__attribute__((noinline)) int exported_step(int fd) {
  return hidden_wait(fd) * 3;
}

__attribute__((noinline)) int spin_step(unsigned long times) {
  for (unsigned long i = 0; i < times; ++i) ++*counter;
  return (int)*counter;
}

int main(int argc, char **argv) {
  int file = open(argv[2], O_RDWR | O_CREAT, 0600);
  if (ftruncate(file, 4096) != 0) return 1;
  counter = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int pipes[2];
  if (pipe(pipes) != 0) return 1;
  if (strcmp(argv[1], "wait") == 0) return exported_step(pipes[0]) + argc;
  while (spin_step(1000) != 0) {
  }
  return 0;
}
