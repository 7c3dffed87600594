/* The floors and the stopwatch of tests/bench/launch, tests/bench/ssh and tests/bench/restart.
 *
 *   floor spawn N COMMAND...   posix_spawn N times, then wait for all: the least that any launcher must do
 *   floor each HOST,... COMMAND...   COMMAND once for each host, all at the same time; the host replaces its word {}
 *   floor time COMMAND...      run COMMAND with /dev/null as stdin and stdout; prints milliseconds and the exit
 *                              code. Nothing but posix_spawn and waitpid lies between the two clock reads.
 *   floor moment FILE COMMAND...   likewise, but first prints the milliseconds to the moment that COMMAND wrote to FILE
 *                              (nanoseconds of CLOCK_MONOTONIC); -1 if it has written none
 *   floor restart N COMMAND... spawn N ranks; when the first has ended, terminate the others, and when all are gone, spawn N again
 *   floor life FOLDER          one rank of the restart test. In its first life, rank 0 waits for the others, writes the moment to
 *                              FOLDER/died and exits with 1; the others wait for their end. In the second, each writes
 *                              FOLDER/again-RANK.
 *   floor rank FOLDER          one rank of the failure test: forks a grandchild, then waits; rank 3 exits with
 *                              7 when FOLDER/go, a FIFO, is opened for writing. Pids are written to FOLDER.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void fail(const char *what) {
  perror(what);
  exit(2);
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static pid_t spawn(char **command, posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes) {
  pid_t pid;
  errno = posix_spawnp(&pid, command[0], actions, attributes, command, environ);
  if (errno) fail(command[0]);
  return pid;
}

static int spawn_all(int count, char **command) {
  int bad = 0, status;
  for (int i = 0; i < count; i++) spawn(command, NULL, NULL);
  for (int i = 0; i < count; i++) {
    if (wait(&status) < 0) fail("wait");
    bad |= status != 0;
  }
  return bad;
}

static int spawn_each(char *hosts, char **command) {
  int count = 0, bad = 0, status;
  char **place = command;
  while (*place && strcmp(*place, "{}")) place++;
  if (!*place) fail("no {}");
  /* Each gets its own session, as with launchers: a busy machine's CPUs are divided among sessions (sched(7), autogroup). */
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  for (char *host = strtok(hosts, ","); host; host = strtok(NULL, ",")) {
    *place = host;
    spawn(command, NULL, &attributes);
    count++;
  }
  while (count-- > 0) {
    if (wait(&status) < 0) fail("wait");
    bad |= status != 0;
  }
  return bad;
}

static double left_in(const char *path) {
  long long moment = 0;
  FILE *file = fopen(path, "r");
  if (!file) return -1;
  int found = fscanf(file, "%lld", &moment);
  fclose(file);
  return found == 1 ? (double)moment / 1e6 : -1;
}

/* `file`: the file with the moment; NULL: none. */
static int time_command(const char *file, char **command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  int status;
  if (file) unlink(file);
  double start = now_ms();
  pid_t pid = spawn(command, &actions, NULL);
  waitpid(pid, &status, 0);
  double end = now_ms();
  double moment = file ? left_in(file) : -1;
  if (file) printf("%.3f ", moment < start ? -1 : moment - start);
  printf("%.3f %d\n", end - start, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  return 0;
}

static const char *rank_name(void) {
  const char *names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (getenv(names[i])) return getenv(names[i]);
  return "-1";
}

static int be_rank(const char *folder) {
  char path[4096], part[4096];
  pid_t grandchild = fork();
  if (grandchild < 0) fail("fork");
  if (grandchild == 0) {
    for (int fd = 0; fd < 3; fd++) close(fd);
    for (;;) pause();
  }
  /* It has another name first, so that a file with its final name is complete. */
  snprintf(part, sizeof part, "%s/part-%s", folder, rank_name());
  FILE *file = fopen(part, "w");
  if (!file) fail(part);
  fprintf(file, "%d %d\n", getpid(), grandchild);
  fclose(file);
  snprintf(path, sizeof path, "%s/pids-%s", folder, rank_name());
  if (rename(part, path) < 0) fail(path);
  snprintf(path, sizeof path, "%s/up", folder);
  int fd = open(path, O_WRONLY);
  if (fd < 0 || write(fd, "x", 1) != 1) fail(path);
  close(fd);
  if (strcmp(rank_name(), "3") == 0) {
    snprintf(path, sizeof path, "%s/go", folder);
    if (open(path, O_RDONLY) < 0) fail(path);
    _exit(7);
  }
  for (;;) pause();
}

static void leave_moment(const char *folder, const char *name) {
  char path[4096];
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  if (!file) fail(path);
  fprintf(file, "%lld\n", (long long)now.tv_sec * 1000000000LL + now.tv_nsec);
  fclose(file);
}

static int be_life(const char *folder) {
  char path[4096], name[64];
  const char *count = getenv("WORLD_SIZE");
  /* Looks for the file, because torchrun's TORCHELASTIC_RESTART_COUNT stays 0 on nodes where no rank has failed. */
  snprintf(path, sizeof path, "%s/died", folder);
  snprintf(name, sizeof name, "%s-%s", access(path, F_OK) == 0 ? "again" : "up", rank_name());
  leave_moment(folder, name);
  if (*name == 'a') return 0;
  if (strcmp(rank_name(), "0")) {
    for (;;) pause();
  }
  for (int rank = 1; count && rank < atoi(count); rank++) {
    snprintf(path, sizeof path, "%s/up-%d", folder, rank);
    for (int tries = 0; access(path, F_OK) < 0; tries++) {
      if (tries > 600000) fail(path);
      usleep(100);
    }
  }
  usleep(200000); /* the start is over everywhere */
  leave_moment(folder, "died");
  return 1;
}

static void spawn_ranks(int count, const char *life, char **command, pid_t *pids) {
  char text[16];
  setenv("TORCHELASTIC_RESTART_COUNT", life, 1);
  snprintf(text, sizeof text, "%d", count);
  setenv("WORLD_SIZE", text, 1);
  for (int i = 0; i < count; i++) {
    snprintf(text, sizeof text, "%d", i);
    setenv("RANK", text, 1);
    pids[i] = spawn(command, NULL, NULL);
  }
}

static int restart_all(int count, char **command) {
  pid_t *pids = calloc((size_t)count, sizeof *pids);
  int status, bad = 0;
  spawn_ranks(count, "0", command, pids);
  pid_t first = wait(&status);
  for (int i = 0; i < count; i++)
    if (pids[i] != first) kill(pids[i], SIGTERM);
  for (int i = 1; i < count; i++) wait(&status);
  spawn_ranks(count, "1", command, pids);
  for (int i = 0; i < count; i++) {
    if (wait(&status) < 0) fail("wait");
    bad |= status != 0;
  }
  free(pids);
  return bad;
}

int main(int argc, char **argv) {
  if (argc >= 4 && !strcmp(argv[1], "spawn")) return spawn_all(atoi(argv[2]), argv + 3);
  if (argc >= 4 && !strcmp(argv[1], "each")) return spawn_each(argv[2], argv + 3);
  if (argc >= 3 && !strcmp(argv[1], "time")) return time_command(NULL, argv + 2);
  if (argc >= 4 && !strcmp(argv[1], "moment")) return time_command(argv[2], argv + 3);
  if (argc >= 4 && !strcmp(argv[1], "restart")) return restart_all(atoi(argv[2]), argv + 3);
  if (argc == 3 && !strcmp(argv[1], "life")) return be_life(argv[2]);
  if (argc == 3 && !strcmp(argv[1], "rank")) return be_rank(argv[2]);
  fprintf(stderr, "usage: floor spawn N COMMAND... | each HOST,... COMMAND... | time COMMAND... | moment FILE COMMAND... | "
          "restart N COMMAND... | life FOLDER | rank FOLDER\n");
  return 2;
}
