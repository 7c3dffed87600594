/* rank WORD...: a rank of the process tests. It does what the words say, in this order, and then exits with 0.
 *
 *   child               fork a child that does nothing until it is killed
 *   daemon              fork twice, with a session of its own, ignoring TERM, INT, HUP and QUIT, without
 *                       environment and open files: the process that most stubbornly outlives its launcher
 *   relay               a process that forks and exits; its child does the same, and so on for ever
 *   sleep N             N milliseconds
 *   ignore N            ignore signal N
 *   notice N WORD       on signal N tell WORD, and go on
 *   tell WORD           write "WORD $RANK" to the FIFO $EVENTS
 *   gate                wait until the test opens $GATE (it holds an exclusive lock on that file)
 *   only N              ranks other than N pause here for ever
 *   lines COUNT         COUNT numbered lines to stdout, written in pieces of odd sizes
 *   bytes COUNT SEED    COUNT pseudo-random bytes (all values) to stdout
 *   print TEXT, error TEXT   TEXT to stdout, stderr, without a line end
 *   stop                stop itself with SIGSTOP
 *   storm TOTAL         until there have been TOTAL processes, each forks as fast as it can, in a session of its
 *                       own; goes on to the next word when half of them exist
 *   hop COUNT, hopaway COUNT   COUNT children that fork and exit at once, again and again, so that each is always a
 *                       new process; hopaway: each in a session of its own
 *   killgroup, killall  SIGKILL to its own process group, to all that it may signal (use in a PID namespace only)
 *   pause               for ever
 *   exit N, die N       exit code N, death by signal N
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *words_of_signals[65];

static void fail(const char *what) {
  perror(what);
  _exit(99);
}

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "-";
}

static void tell(const char *word) {
  char line[200];
  int n = snprintf(line, sizeof line, "%s %s\n", word, variable("RANK"));
  int fd = open(variable("EVENTS"), O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, line, (size_t)n) != n) fail("EVENTS");
  close(fd);
}

static void on_signal(int number) {
  int saved = errno;
  tell(words_of_signals[number]);
  errno = saved;
}

static void pause_for_ever(void) {
  for (;;) pause();
}

static void put(const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t n = write(1, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("write");
    bytes += n;
    size -= (size_t)n;
  }
}

static void start_child(void) {
  pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid == 0) pause_for_ever();
}

static void start_daemon(const char *self) {
  int ready[2];
  if (pipe(ready) < 0) fail("pipe");
  pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    for (int fd = 0; fd < 3; fd++) close(fd);
    fcntl(ready[1], F_SETFD, FD_CLOEXEC);  /* exec closes it, which tells the parent */
    close(ready[0]);
    char *argv[] = {"daemon", "pause", NULL}, *none[] = {NULL};
    execve(self, argv, none);
    _exit(99);
  }
  close(ready[1]);
  waitpid(pid, NULL, 0);
  char byte;
  while (read(ready[0], &byte, 1) < 0 && errno == EINTR) {
  }
  close(ready[0]);
}

static void start_relay(void) {
  pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid > 0) return;
  for (;;) {
    setsid();
    pid = fork();
    if (pid > 0) _exit(0);  /* if no more forks are allowed, it goes on alone */
  }
}

static void storm(int total) {
  int *created = mmap(NULL, sizeof *created, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (created == MAP_FAILED) fail("mmap");
  int is_first = 1;
  while (__atomic_add_fetch(created, 1, __ATOMIC_RELAXED) < total) {
    pid_t pid = fork();
    if (pid == 0) {
      is_first = 0;
      setsid();
    }
    if (is_first && __atomic_load_n(created, __ATOMIC_RELAXED) >= total / 2) return;
  }
  if (!is_first) pause_for_ever();
}

static void hop(int count, int away) {
  for (int i = 0; i < count; i++) {
    pid_t pid = fork();
    if (pid < 0) fail("fork");
    while (pid == 0) {
      if (away) setsid();
      pid = fork();
      if (pid > 0) _exit(0);
      if (pid < 0) pid = 0;
    }
  }
}

static void wait_for_gate(void) {
  int fd = open(variable("GATE"), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("GATE");
  while (flock(fd, LOCK_SH) < 0 && errno == EINTR) {
  }
  close(fd);
}

static void print_lines(int count) {
  static char buffer[1 << 16];
  size_t used = 0, piece = 1;
  for (int i = 0; i < count; i++) {
    int length = i % 71;
    used += (size_t)sprintf(buffer + used, "R%s %06d %.*s.\n", variable("RANK"), i, length,
                            "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
    while (used >= piece) {  /* 1, 8, 15, ... bytes: line ends fall anywhere */
      put(buffer, piece);
      used -= piece;
      memmove(buffer, buffer + piece, used);
      piece = (piece + 7) % 4093 + 1;
    }
  }
  put(buffer, used);
}

/* xorshift32, repeated after PERIOD bytes; expectations.py makes the same bytes */
enum { PERIOD = 65521 };

static void print_bytes(long count, uint32_t state) {
  static char buffer[PERIOD];
  for (int i = 0; i < PERIOD; i++) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    buffer[i] = (char)(state >> 24);
  }
  for (; count > 0; count -= PERIOD) put(buffer, count < PERIOD ? (size_t)count : PERIOD);
}

static void die(int number) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  kill(getpid(), number);
  pause_for_ever();
}

int main(int argc, char **argv) {
  char self[4096];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size < 0) fail("readlink");
  self[size] = 0;
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    const char *next = i + 1 < argc ? argv[i + 1] : "";
    if (!strcmp(word, "child")) start_child();
    else if (!strcmp(word, "daemon")) start_daemon(self);
    else if (!strcmp(word, "relay")) start_relay();
    else if (!strcmp(word, "gate")) wait_for_gate();
    else if (!strcmp(word, "stop")) kill(getpid(), SIGSTOP);
    else if (!strcmp(word, "killgroup")) kill(0, SIGKILL);
    else if (!strcmp(word, "killall")) kill(-1, SIGKILL);
    else if (!strcmp(word, "pause")) pause_for_ever();
    else {
      i++;
      if (!strcmp(word, "sleep")) usleep((useconds_t)atoi(next) * 1000);
      else if (!strcmp(word, "ignore")) signal(atoi(next), SIG_IGN);
      else if (!strcmp(word, "notice")) {
        words_of_signals[atoi(next)] = argv[++i];
        signal(atoi(next), on_signal);
      } else if (!strcmp(word, "tell")) tell(next);
      else if (!strcmp(word, "only")) { if (strcmp(next, variable("RANK"))) pause_for_ever(); }
      else if (!strcmp(word, "storm")) storm(atoi(next));
      else if (!strcmp(word, "hop")) hop(atoi(next), 0);
      else if (!strcmp(word, "hopaway")) hop(atoi(next), 1);
      else if (!strcmp(word, "lines")) print_lines(atoi(next));
      else if (!strcmp(word, "bytes")) print_bytes(atol(next), (uint32_t)atoi(argv[++i]));
      else if (!strcmp(word, "print")) put(next, strlen(next));
      else if (!strcmp(word, "error")) { if (write(2, next, strlen(next)) < 0) fail("write"); }
      else if (!strcmp(word, "exit")) _exit(atoi(next));
      else if (!strcmp(word, "die")) die(atoi(next));
      else { fprintf(stderr, "rank: unknown word %s\n", word); return 98; }
    }
  }
  return 0;
}
