/* The programs that tests/bench/output compares with dlaunch.
 *
 *   output gen LINES [line]       numbered 100-byte lines of rank $RANK, in writes of 64 KiB; `line`: one
 *                                 write(2) for each line
 *   output relay FOLDER N CMD...  the floor: N children with RANK=0.. and a pipe each; poll, read, write to
 *                                 FOLDER/rank-<n>.out and to stdout. No prefixes, no look at lines.
 *   output check RANKS LINES      reads stdin, whose lines may have a prefix; prints
 *                                 "lines=.. torn=.. reordered=.. missing=.."; exits with 1
 *                                 unless all lines are whole
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 100, CHUNK = 65536, MOST_RANKS = 1024 };

static void fail(const char *what) {
  perror(what);
  exit(99);
}

static void put(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t n = write(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("write");
    bytes += n;
    size -= (size_t)n;
  }
}

/* For "R0003 00000042 qqq...q\n". Not printf, so that ranks cost little beside the launcher. */
static void digits(char *to, int count, unsigned long value) {
  while (count-- > 0) {
    to[count] = (char)('0' + value % 10);
    value /= 10;
  }
}

static int generate(unsigned long lines, int by_line) {
  static char chunk[CHUNK];
  const char *rank = getenv("RANK");
  size_t used = 0;
  for (unsigned long i = 0; i < lines; ++i) {
    char *line = chunk + used;
    line[0] = 'R';
    digits(line + 1, 4, rank ? strtoul(rank, NULL, 10) : 0);
    line[5] = ' ';
    digits(line + 6, 8, i);
    line[14] = ' ';
    memset(line + 15, (char)('a' + i % 26), LINE - 16);
    line[LINE - 1] = '\n';
    used += LINE;
    if (by_line || used + LINE > CHUNK) {
      put(1, chunk, used);
      used = 0;
    }
  }
  put(1, chunk, used);
  return 0;
}

static int start(char **command, int rank) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) fail("pipe");
  pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid == 0) {
    char number[16];
    snprintf(number, sizeof number, "%d", rank);
    setenv("RANK", number, 1);
    dup2(ends[1], 1);
    execvp(command[0], command);
    fail(command[0]);
  }
  close(ends[1]);
  return ends[0];
}

static int relay(const char *folder, int count, char **command) {
  static struct pollfd pipes[MOST_RANKS];
  static int files[MOST_RANKS];
  static char chunk[CHUNK];
  int open_pipes = count;
  for (int i = 0; i < count; ++i) {
    char path[4096];
    snprintf(path, sizeof path, "%s/rank-%d.out", folder, i);
    files[i] = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (files[i] < 0) fail(path);
    pipes[i] = (struct pollfd){start(command, i), POLLIN, 0};
  }
  while (open_pipes > 0) {
    if (poll(pipes, (nfds_t)count, -1) < 0) fail("poll");
    for (int i = 0; i < count; ++i) {
      if (pipes[i].revents == 0) continue;
      ssize_t n = read(pipes[i].fd, chunk, sizeof chunk);
      if (n < 0) fail("read");
      if (n == 0) {
        close(pipes[i].fd);
        pipes[i].fd = -1;
        --open_pipes;
        continue;
      }
      put(files[i], chunk, (size_t)n);
      put(1, chunk, (size_t)n);
    }
  }
  int status, code = 0;
  while (wait(&status) > 0) code |= status;
  return code != 0;
}

static int check(int ranks, unsigned long lines) {
  static unsigned long next[MOST_RANKS];
  unsigned long good = 0, torn = 0, reordered = 0, missing = 0;
  char *line = NULL;
  size_t room = 0;
  ssize_t n;
  while ((n = getline(&line, &room, stdin)) > 0) {
    const char *text = line + n - LINE;
    int rank = -1;
    unsigned long number = 0;
    int whole = n >= LINE && sscanf(text, "R%4d %8lu ", &rank, &number) == 2 && rank >= 0 && rank < ranks;
    for (int i = 15; whole && i < LINE - 1; ++i) whole = text[i] == (char)('a' + number % 26);
    if (!whole || text[LINE - 1] != '\n' || n > LINE + 80) {
      ++torn;
    } else {
      if (number < next[rank]) ++reordered;
      else missing += number - next[rank];
      next[rank] = number + 1;
      ++good;
    }
  }
  for (int i = 0; i < ranks; ++i) missing += lines > next[i] ? lines - next[i] : 0;
  printf("lines=%lu torn=%lu reordered=%lu missing=%lu\n", good, torn, reordered, missing);
  return torn || reordered || missing || good != lines * (unsigned long)ranks;
}

int main(int argc, char **argv) {
  if (argc >= 3 && !strcmp(argv[1], "gen"))
    return generate(strtoul(argv[2], NULL, 10), argc > 3 && !strcmp(argv[3], "line"));
  if (argc >= 5 && !strcmp(argv[1], "relay") && atoi(argv[3]) <= MOST_RANKS)
    return relay(argv[2], atoi(argv[3]), argv + 4);
  if (argc == 4 && !strcmp(argv[1], "check") && atoi(argv[2]) <= MOST_RANKS)
    return check(atoi(argv[2]), strtoul(argv[3], NULL, 10));
  fprintf(stderr, "usage: output gen LINES [line] | relay FOLDER N CMD... | check RANKS LINES\n");
  return 2;
}
