/* Commands that outlive the connection: each has a supervisor, which copies what it prints into rings and notes its end. */
#define _GNU_SOURCE
#include "guest.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Memory may be short for a moment, while others' answers wait to be taken: so long is waited for it. */
#define ROOM_TRIES 250
#define ROOM_PAUSE_US 20000

static const char *stream_names[2] = {"stdout", "stderr"};

int open_part(const struct task *task, const char *name, int flags) {
  char folder[512], path[600];
  join_path(folder, sizeof folder, task->home, task->id, "");
  join_path(path, sizeof path, folder, name, "");
  return open(path, flags | O_CLOEXEC, 0600);
}

static void put_ring(int ring, uint64_t *total, const char *bytes, size_t length) {
  int tries = 0;
  while (length > 0) {
    size_t at = *total % ROUND_BYTES;
    size_t part = ROUND_BYTES - at < length ? ROUND_BYTES - at : length;
    ssize_t put = pwrite(ring, bytes, part, (off_t)(8 + at));
    if (put <= 0) {
      if (tries++ == ROOM_TRIES) return;
      usleep(ROOM_PAUSE_US);
      continue;
    }
    *total += (size_t)put;
    bytes += put;
    length -= (size_t)put;
  }
  if (pwrite(ring, total, 8, 0) != 8) return;
}

static void put_state(const struct task *task, const char *state) {
  char folder[512], path[600], next[600];
  join_path(folder, sizeof folder, task->home, task->id, "");
  join_path(path, sizeof path, folder, "state", "");
  join_path(next, sizeof next, folder, "state.next", "");
  if (write_text(next, state, O_CREAT | O_TRUNC) == 0) rename(next, path);
}

int read_state(const struct task *task, char *state, size_t size) {
  int fd = open_part(task, "state", O_RDONLY);
  ssize_t got;
  if (fd < 0) return -1;
  got = read(fd, state, size - 1);
  close(fd);
  if (got <= 0) return -1;
  state[got] = 0;
  return 0;
}

/* Whether a kept ring has no room for another chunk until the node has taken more. */
static int is_full(int taken, uint64_t total) {
  uint64_t upto = 0;
  if (total + CHUNK_BYTES <= RING_BYTES) return 0;
  if (pread(taken, &upto, 8, 0) != 8) upto = 0;
  return total + CHUNK_BYTES > upto + RING_BYTES;
}

static void child_ended(int number) { (void)number; }

/* What the command's own children say after its end is read and dropped: a server that it left behind would die of
   printing otherwise. */
static void drain(struct pollfd ready[2], char *bytes) {
  int stream;
  while (ready[0].fd >= 0 || ready[1].fd >= 0) {
    if (poll(ready, 2, -1) < 0) continue;
    for (stream = 0; stream < 2; stream++)
      if (ready[stream].fd >= 0 && ready[stream].revents && read(ready[stream].fd, bytes, CHUNK_BYTES) <= 0) ready[stream].fd = -1;
  }
}

/* Copies both pipes into the rings until the command has ended and all that it printed is copied; then notes the exit. */
static void supervise(const struct task *task, pid_t child, const int pipes[2], const int rings[2]) {
  static char bytes[CHUNK_BYTES];
  static char noted[4096];
  struct pollfd ready[3] = {{pipes[0], POLLIN, 0}, {pipes[1], POLLIN, 0}, {-1, POLLIN, 0}};
  long long deadline = now_ms() + task->limit_ms;
  uint64_t totals[2] = {0, 0};
  sigset_t none;
  char state[64], folder[512];
  int stream, taken = -1, status = 0, running = 1, timed_out = 0;
  sigemptyset(&none);
  if (task->kept) {
    join_path(folder, sizeof folder, task->home, task->id, "taken");
    taken = open(folder, O_RDONLY | O_CLOEXEC);
    ready[2].fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    inotify_add_watch(ready[2].fd, folder, IN_MODIFY);
  }
  for (;;) {
    /* SIGCHLD is let in only while we wait here, so it cannot be missed. */
    int full = task->kept && ready[0].fd >= 0 && is_full(taken, totals[0]);
    long long left = running ? deadline - now_ms() : 0;
    struct timespec wait = {left > 0 ? left / 1000 : 0, left > 0 ? left % 1000 * 1000000 : 0};
    int count, open_fd = ready[0].fd;
    if (full) ready[0].fd = -2;
    count = ppoll(ready, 3, running ? (task->limit_ms == 0 ? NULL : &wait) : (full ? NULL : &wait), &none);
    ready[0].fd = open_fd;
    if (full) ready[0].revents = 0;
    if (running && task->limit_ms > 0 && deadline <= now_ms()) {
      end_group(task->id, 1, child, timed_out ? SIGKILL : SIGTERM);
      deadline = now_ms() + KILL_AFTER_MS;
      timed_out = 1;
    }
    if (count > 0 && ready[2].fd >= 0 && ready[2].revents) while (read(ready[2].fd, noted, sizeof noted) > 0);
    for (stream = 0; count > 0 && stream < 2; stream++) {
      ssize_t got;
      if (ready[stream].fd < 0 || !ready[stream].revents) continue;
      got = read(ready[stream].fd, bytes, sizeof bytes);
      if (got > 0) put_ring(rings[stream], &totals[stream], bytes, (size_t)got);
      else if (got == 0 || errno != EINTR) ready[stream].fd = -1;
    }
    if (!running && !full && count <= 0) break;
    if (running && waitpid(child, &status, WNOHANG) == child) running = 0;
  }
  if (timed_out) end_group(task->id, 1, child, SIGKILL);
  snprintf(state, sizeof state, "%s %d\n", timed_out || WIFSIGNALED(status) ? "killed" : "exited", timed_out ? 124 : exit_code_of(status));
  put_state(task, state);
  sweep_groups();
  drain(ready, bytes);
}

/* Makes the folder with its rings. 0 when it is new, 1 when it was there, -1 when there is no room for it. */
static int make_folder(const struct task *task, int rings[2]) {
  char folder[512];
  int stream, taken;
  join_path(folder, sizeof folder, task->home, task->id, "");
  if (mkdir(folder, 0700)) return errno == EEXIST ? 1 : -1;
  for (stream = 0; stream < 2; stream++) {
    rings[stream] = open_part(task, stream_names[stream], O_RDWR | O_CREAT);
    if (rings[stream] < 0 || (!strcmp(task->home, PROCESSES) && posix_fallocate(rings[stream], 0, 8 + ROUND_BYTES))) return -1;
  }
  if (task->kept && (taken = open_part(task, "taken", O_RDWR | O_CREAT)) >= 0) close(taken);
  put_state(task, "running 0\n");
  return 0;
}

/* Starts a command and its supervisor, unless it was started before. 0 once it runs and its record is there, 126 when
   that is not possible. */
int start_task(const struct task *task) {
  char none;
  int out[2], err[2], started[2], fds[3], rings[2], pipes[2], nothing, made = make_folder(task, rings);
  sigset_t child_signal;
  pid_t child;
  if (made != 0) return made > 0 ? 0 : 126;
  if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) || pipe2(started, O_CLOEXEC)) return 126;
  nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  fds[0] = task->input >= 0 ? task->input : nothing, fds[1] = out[1], fds[2] = task->kept ? out[1] : err[1];
  if (fork() != 0) {
    /* The other end closes when the command itself runs: from then on it can be killed by its id. */
    close(started[1]), close(out[0]), close(out[1]), close(err[0]), close(err[1]), close(rings[0]), close(rings[1]);
    while (read(started[0], &none, 1) < 0 && errno == EINTR);
    close(started[0]);
    return 0;
  }
  setsid();
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_signal, NULL);
  signal(SIGCHLD, child_ended);
  signal(SIGPIPE, SIG_IGN);
  dup2(nothing, 0), dup2(nothing, 1), dup2(nothing, 2);
  child = start_child(task->id, 1, task->directory, task->argv, fds);
  close(out[1]), close(err[1]), close(started[1]);
  pipes[0] = out[0], pipes[1] = err[0];
  if (child < 0) put_state(task, "exited 126\n");
  else supervise(task, child, pipes, rings);
  _exit(0);
  return 0;
}

/* fields: id, directory, limit in ms (0: none), argv. */
int run_background(char **fields, int count) {
  struct task task = {PROCESSES, fields[0], fields[1], 0, fields + 3, -1, 0};
  if (count < 4) return 125;
  task.limit_ms = atoll(fields[2]);
  return start_task(&task);
}

/* Frees what ended commands have printed; what is left of one keeps it from being started again. */
static void free_ended(const char *own) {
  DIR *folder = opendir(COMMANDS);
  struct dirent *entry;
  struct task other = {COMMANDS, NULL, NULL, 0, NULL, -1, 0};
  char state[64], path[600], one[512];
  int stream;
  if (!folder) return;
  while ((entry = readdir(folder))) {
    if (entry->d_name[0] == '.' || !strcmp(entry->d_name, own)) continue;
    other.id = entry->d_name;
    if (read_state(&other, state, sizeof state) || !strncmp(state, "running", 7)) continue;
    join_path(one, sizeof one, COMMANDS, entry->d_name, "");
    for (stream = 0; stream < 2; stream++) {
      join_path(path, sizeof path, one, stream_names[stream], "");
      unlink(path);
    }
  }
  closedir(folder);
}

/* fields as run_background. Both streams are one, and it waits for whoever takes it (take_kept): nothing of it is lost. */
int run_kept(char **fields, int count) {
  struct task task = {COMMANDS, fields[0], fields[1], 0, fields + 3, -1, 1};
  if (count < 4) return 125;
  task.limit_ms = atoll(fields[2]);
  mkdir(COMMANDS, 0700);
  free_ended(fields[0]);
  return start_task(&task);
}
