/* rank FOLDER SEED: a rank of the chaos test. FOLDER/orders.$RANK says what to do, one word after the other:
 *
 *   ready            tell "ready $RANK"
 *   child            fork a child that does nothing
 *   daemon           fork twice, own session, deaf to TERM, no environment, no open files
 *   clinging         the same, and it keeps stdin, stdout and stderr open
 *   deaf             ignore TERM, INT and HUP
 *   session          fork, and go on in a child that leads a session of its own
 *   lines N PAUSE    N numbered lines to stdout and stderr, PAUSE microseconds after each write
 *   work PAUSE       numbered lines until the gate opens
 *   gate             wait until the gate opens
 *
 * Every fifth line goes to stderr. What has been written is counted in FOLDER/record.$RANK (in a restart record.$RANK.$ATTEMPT), a page that
 * stays when the rank is killed: a byte is counted after the kernel has taken it. */
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
#include <sys/wait.h>
#include <unistd.h>

struct record {
  volatile uint64_t written[2]; /* stdout, stderr */
  volatile uint64_t pid;
  volatile uint64_t complete; /* 1: every order was carried out */
};

struct stream {
  int fd;
  const char *name;
  uint64_t line;
  size_t used;
  char buffer[16384];
};

static struct stream streams[2] = {{.fd = 1, .name = "O"}, {.fd = 2, .name = "E"}};
static struct record *record;
static const char *rank_text;
static uint32_t random_state;

static void fail(const char *what) {
  perror(what);
  _exit(99);
}

static const char *variable(const char *name) {
  const char *value = getenv(name);
  if (!value) _exit(98);
  return value;
}

static uint32_t next_random(void) { /* xorshift32 */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  return random_state;
}

static struct record *map_record(const char *folder) {
  char path[4096];
  const char *attempt = getenv("DLAUNCH_ATTEMPT"), *again = attempt && strcmp(attempt, "0") ? attempt : "";
  snprintf(path, sizeof path, "%s/record.%s%s%s", folder, rank_text, *again ? "." : "", again);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) fail(path);
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) fail("mmap");
  close(fd);
  return page;
}

static void put(struct stream *to, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = write(to->fd, to->buffer + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(97);
    record->written[to->fd - 1] += (uint64_t)n;
    done += (size_t)n;
  }
  to->used -= size;
  memmove(to->buffer, to->buffer + size, to->used);
}

static void print_line(uint64_t number, unsigned pause_us) {
  static const char filler[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
  struct stream *to = &streams[number % 5 == 4];
  to->used += (size_t)sprintf(to->buffer + to->used, "%s%s %08llu %.*s\n", to->name, rank_text,
                              (unsigned long long)to->line, (int)(to->line * 37 % 101), filler);
  to->line++;
  size_t piece = next_random() % 9000 + 1; /* line ends fall anywhere */
  if (to->used < piece) return;
  put(to, piece);
  if (pause_us) usleep(pause_us);
}

static void put_rest(void) {
  for (int i = 0; i < 2; i++) put(&streams[i], streams[i].used);
}

static int gate_is_open(int wait) {
  static int fd = -1;
  if (fd < 0 && (fd = open(variable("GATE"), O_RDONLY | O_CLOEXEC)) < 0) fail("GATE");
  int result;
  while ((result = flock(fd, LOCK_SH | (wait ? 0 : LOCK_NB))) < 0 && errno == EINTR) {
  }
  return result == 0;
}

static void tell_ready(void) {
  char line[40];
  int n = snprintf(line, sizeof line, "ready %s\n", rank_text);
  int fd = open(variable("EVENTS"), O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, line, (size_t)n) != n) fail("EVENTS");
  close(fd);
}

static void pause_for_ever(void) {
  for (;;) pause();
}

static void be_deaf(void) {
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
}

static void start_child(void) {
  pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid == 0) pause_for_ever();
}

static void start_daemon(const char *self, int clinging) {
  pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid > 0) {
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return;
  }
  setsid();
  if (fork() != 0) _exit(0);
  be_deaf();
  for (int fd = 0; fd < 3 && !clinging; fd++) close(fd);
  char *argv[] = {"daemon", NULL}, *none[] = {NULL};
  execve(self, argv, none);
  _exit(99);
}

static void lead_a_session(void) {
  pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid > 0) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  setsid();
}

static void carry_out(char *orders, const char *self) {
  for (char *word = strtok(orders, " \n"); word; word = strtok(NULL, " \n")) {
    if (!strcmp(word, "ready")) tell_ready();
    else if (!strcmp(word, "child")) start_child();
    else if (!strcmp(word, "daemon")) start_daemon(self, 0);
    else if (!strcmp(word, "clinging")) start_daemon(self, 1);
    else if (!strcmp(word, "deaf")) be_deaf();
    else if (!strcmp(word, "session")) lead_a_session();
    else if (!strcmp(word, "gate")) gate_is_open(1);
    else if (!strcmp(word, "lines")) {
      uint64_t count = strtoull(strtok(NULL, " \n"), NULL, 10);
      unsigned pause_us = (unsigned)atoi(strtok(NULL, " \n"));
      for (uint64_t i = 0; i < count; i++) print_line(i, pause_us);
    } else if (!strcmp(word, "work")) {
      unsigned pause_us = (unsigned)atoi(strtok(NULL, " \n"));
      for (uint64_t i = 0; !gate_is_open(0); i++) print_line(i, pause_us);
    } else {
      fprintf(stderr, "unknown order %s\n", word);
      _exit(96);
    }
  }
}

int main(int argc, char **argv) {
  if (argc < 3) pause_for_ever(); /* a daemon */
  static char self[4096], orders[4096], path[4096];
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) fail("readlink");
  rank_text = variable("RANK");
  random_state = (uint32_t)atoi(argv[2]) * 2654435761u + (uint32_t)atoi(rank_text) * 40503u + 1;
  record = map_record(argv[1]);
  record->pid = (uint64_t)getpid();
  snprintf(path, sizeof path, "%s/orders.%s", argv[1], rank_text);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, orders, sizeof orders - 1) < 0) fail(path);
  close(fd);
  carry_out(orders, self);
  put_rest();
  record->complete = 1;
  return 0;
}
