/* Processes that outlive the connection. Each has a folder: a ring of output per stream and a state.
   A ring is 8 bytes (how many bytes were ever written) and then the last MiB of them, with room for one chunk
   more, so that a chunk being written never touches what may be read. */
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING_BYTES (1024 * 1024)
#define CHUNK_BYTES (64 * 1024)
#define ROUND_BYTES (RING_BYTES + CHUNK_BYTES)

static const char *stream_names[2] = {"stdout", "stderr"};

static int open_ring(const char *id, int stream, int flags) {
  char path[512];
  join_path(path, sizeof path, PROCESSES, id, stream_names[stream]);
  return open(path, flags | O_CLOEXEC, 0600);
}

static void put_ring(int ring, uint64_t *total, const char *bytes, size_t length) {
  while (length > 0) {
    size_t at = *total % ROUND_BYTES;
    size_t part = ROUND_BYTES - at < length ? ROUND_BYTES - at : length;
    if (pwrite(ring, bytes, part, (off_t)(8 + at)) < 0) return;
    *total += part;
    bytes += part;
    length -= part;
  }
  if (pwrite(ring, total, 8, 0) != 8) return;
}

static void put_state(const char *id, const char *state) {
  char path[512], next[512];
  join_path(path, sizeof path, PROCESSES, id, "state");
  join_path(next, sizeof next, PROCESSES, id, "state.next");
  if (write_text(next, state, O_CREAT | O_TRUNC) == 0) rename(next, path);
}

static void child_ended(int number) { (void)number; }

/* Copies both pipes into the rings until both end; then notes the exit. What the command's own children say
   after it has ended, on a pipe they kept, is not waited for. A limit of 0 is none. */
static void supervise(const char *id, pid_t child, const int pipes[2], const int rings[2], long long limit_ms) {
  static char bytes[CHUNK_BYTES];
  struct pollfd ready[2] = {{pipes[0], POLLIN, 0}, {pipes[1], POLLIN, 0}};
  long long deadline = now_ms() + limit_ms;
  uint64_t totals[2] = {0, 0};
  sigset_t none;
  char state[64];
  int stream, status = 0, running = 1, timed_out = 0;
  sigemptyset(&none);
  for (;;) {
    /* SIGCHLD is let in only while we wait here, so it cannot be missed. */
    long long left = running ? deadline - now_ms() : 0;
    struct timespec wait = {left > 0 ? left / 1000 : 0, left > 0 ? left % 1000 * 1000000 : 0};
    int count = ppoll(ready, 2, running && limit_ms == 0 ? NULL : &wait, &none);
    if (running && limit_ms > 0 && deadline <= now_ms()) {
      end_group(id, 1, child, timed_out ? SIGKILL : SIGTERM);
      deadline = now_ms() + KILL_AFTER_MS;
      timed_out = 1;
    }
    for (stream = 0; count > 0 && stream < 2; stream++) {
      ssize_t got;
      if (ready[stream].fd < 0 || !ready[stream].revents) continue;
      got = read(ready[stream].fd, bytes, sizeof bytes);
      if (got > 0) put_ring(rings[stream], &totals[stream], bytes, (size_t)got);
      else if (got == 0 || errno != EINTR) ready[stream].fd = -1;
    }
    if (!running && count <= 0) break;
    if (running && waitpid(child, &status, WNOHANG) == child) running = 0;
  }
  if (timed_out) end_group(id, 1, child, SIGKILL);
  snprintf(state, sizeof state, "%s %d\n", timed_out || WIFSIGNALED(status) ? "killed" : "exited", timed_out ? 124 : exit_code_of(status));
  put_state(id, state);
  sweep_groups();
}

/* fields: id, directory, limit in ms (0: none), argv. Returns once the process is started and its record is on disk. */
int run_background(char **fields, int count) {
  char folder[512], none;
  int out[2], err[2], started[2], fds[3], rings[2], pipes[2], stream, nothing;
  sigset_t child_signal;
  pid_t child;
  if (count < 4) return 125;
  join_path(folder, sizeof folder, PROCESSES, fields[0], "");
  if (mkdir(folder, 0700)) return errno == EEXIST ? 0 : 126;
  for (stream = 0; stream < 2; stream++) {
    rings[stream] = open_ring(fields[0], stream, O_RDWR | O_CREAT);
    if (rings[stream] < 0 || posix_fallocate(rings[stream], 0, 8 + ROUND_BYTES)) return 126;
  }
  put_state(fields[0], "running 0\n");
  if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) || pipe2(started, O_CLOEXEC)) return 126;
  nothing = open("/dev/null", O_RDWR);
  fds[0] = nothing, fds[1] = out[1], fds[2] = err[1];
  if (fork() != 0) {
    /* The other end closes when the command itself runs: from then on it can be killed by its id. */
    close(started[1]);
    while (read(started[0], &none, 1) < 0 && errno == EINTR);
    _exit(0);
  }
  setsid();
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_signal, NULL);
  signal(SIGCHLD, child_ended);
  dup2(nothing, 0), dup2(nothing, 1), dup2(nothing, 2);
  signal(SIGPIPE, SIG_IGN);
  child = start_child(fields[0], 1, fields[1], fields + 3, fds);
  close(out[1]), close(err[1]), close(started[1]);
  pipes[0] = out[0], pipes[1] = err[0];
  if (child < 0) put_state(fields[0], "exited 126\n");
  else supervise(fields[0], child, pipes, rings, atoll(fields[2]));
  _exit(0);
  return 0;
}

static int read_state(const char *id, char *state, size_t size) {
  char path[512];
  int fd;
  ssize_t got;
  join_path(path, sizeof path, PROCESSES, id, "state");
  if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0) return -1;
  got = read(fd, state, size - 1);
  close(fd);
  if (got <= 0) return -1;
  state[got] = 0;
  return 0;
}

/* Writes what the ring holds from *from on as one frame `<stream> <offset> <length>\n<bytes>`. 1 when there was any. */
static int send_new(int ring, int stream, uint64_t *from) {
  static char bytes[RING_BYTES];
  char header[80];
  uint64_t total = 0, after = 0, first;
  size_t length, at, part;
  if (pread(ring, &total, 8, 0) != 8) return 0;
  first = total > RING_BYTES ? total - RING_BYTES : 0;
  if (*from > first) first = *from;
  if (first >= total) return 0;
  length = total - first;
  at = first % ROUND_BYTES;
  part = ROUND_BYTES - at < length ? ROUND_BYTES - at : length;
  if (pread(ring, bytes, part, (off_t)(8 + at)) < 0 || pread(ring, bytes + part, length - part, 8) < 0) return 0;
  /* The writer may have gone round meanwhile: leave out what it may have written over. */
  if (pread(ring, &after, 8, 0) != 8) return 0;
  if (after > RING_BYTES && after - RING_BYTES > first) {
    uint64_t lost = after - RING_BYTES - first;
    *from = total;
    if (lost >= length) return 1;
    memmove(bytes, bytes + lost, length - lost);
    first += lost;
    length -= lost;
  }
  snprintf(header, sizeof header, "%d %llu %zu\n", stream + 1, (unsigned long long)first, length);
  if (write_fully(1, header, strlen(header)) || write_fully(1, bytes, length)) _exit(0);
  *from = total;
  return 1;
}

/* fields: id, offset of stdout, offset of stderr, follow (0 or 1). Frames, then `state <state> <exit code>\n`. */
int watch_background(char **fields, int count) {
  char state[64], folder[512], noted[4096];
  uint64_t from[2];
  int rings[2], stream, follow, changes;
  if (count != 4) return 125;
  follow = atoi(fields[3]);
  join_path(folder, sizeof folder, PROCESSES, fields[0], "");
  changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  inotify_add_watch(changes, folder, IN_MODIFY | IN_MOVED_TO);
  for (stream = 0; stream < 2; stream++) {
    from[stream] = strtoull(fields[1 + stream], NULL, 10);
    if ((rings[stream] = open_ring(fields[0], stream, O_RDONLY)) < 0) return 3;
  }
  for (;;) {
    struct pollfd waits[2] = {{changes, POLLIN, 0}, {1, 0, 0}};
    int sent = 0;
    if (read_state(fields[0], state, sizeof state)) return 3;
    for (stream = 0; stream < 2; stream++) sent |= send_new(rings[stream], stream, &from[stream]);
    if (!follow || (!sent && strncmp(state, "running", 7))) break;
    if (sent) continue;
    poll(waits, 2, -1);
    if (waits[1].revents) return 0;
    while (read(changes, noted, sizeof noted) > 0);
  }
  dprintf(1, "state %s", state);
  return 0;
}
