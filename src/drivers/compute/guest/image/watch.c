/* What supervised commands have printed, sent to the node as frames `<stream> <offset> <length>\n<bytes>`, and how they
   are as the line `state <state> <exit code>`. */
#define _GNU_SOURCE
#include "guest.h"
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* One frame of a kept output: small enough to be on its way while the next is printed. */
#define KEPT_FRAME_BYTES (128 * 1024)
/* Largest standard input of a command. */
#define INPUT_BYTES (4 * 1024 * 1024)
/* A command that is being started has no state yet. */
#define STATE_TRIES 500
#define STATE_PAUSE_US 10000
/* An answer that the node does not take is kept for whoever asks for it again. */
#define TAKEN_WAIT_MS 30000
#define FORGET_AFTER_SECONDS 600

/* Sends at most so much of what the ring holds from *from on as one frame. 1 when there was any. */
static int send_new(int ring, int stream, uint64_t *from, size_t most) {
  static char bytes[RING_BYTES];
  char header[80];
  uint64_t total = 0, after = 0, first;
  size_t length, at, part;
  if (pread(ring, &total, 8, 0) != 8) return 0;
  first = total > RING_BYTES ? total - RING_BYTES : 0;
  if (*from > first) first = *from;
  if (first >= total) return 0;
  if (total - first > most) total = first + most;
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

static int watch_folder(const struct task *task, int events) {
  char folder[512];
  int changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  join_path(folder, sizeof folder, task->home, task->id, "");
  inotify_add_watch(changes, folder, (unsigned)events);
  return changes;
}

static void forget_changes(int changes) {
  static char noted[4096];
  while (read(changes, noted, sizeof noted) > 0);
}

/* fields: id, offset of stdout, offset of stderr, follow (0 or 1). */
int watch_background(char **fields, int count) {
  struct task task = {PROCESSES, fields[0], NULL, 0, NULL, -1, 0};
  char state[64];
  uint64_t from[2];
  int rings[2], stream, follow, changes;
  if (count != 4) return 125;
  follow = atoi(fields[3]);
  changes = watch_folder(&task, IN_MODIFY | IN_MOVED_TO);
  for (stream = 0; stream < 2; stream++) {
    from[stream] = strtoull(fields[1 + stream], NULL, 10);
    if ((rings[stream] = open_part(&task, stream ? "stderr" : "stdout", O_RDONLY)) < 0) return 3;
  }
  for (;;) {
    struct pollfd waits[2] = {{changes, POLLIN, 0}, {1, 0, 0}};
    int sent = 0;
    if (read_state(&task, state, sizeof state)) return 3;
    for (stream = 0; stream < 2; stream++) sent |= send_new(rings[stream], stream, &from[stream], RING_BYTES);
    if (!follow || (!sent && strncmp(state, "running", 7))) break;
    if (sent) continue;
    poll(waits, 2, -1);
    if (waits[1].revents) return 0;
    forget_changes(changes);
  }
  dprintf(1, "state %s", state);
  return 0;
}

/* Notes how far the node has stored the output: offsets of 8 bytes, big endian, come on standard input. 0 at its end. */
static int note_taken(int taken) {
  static unsigned char offset[8];
  static size_t have;
  unsigned char bytes[512];
  ssize_t got = read(0, bytes, sizeof bytes), at;
  uint64_t upto = 0;
  int whole = 0, digit;
  if (got <= 0) return 0;
  for (at = 0; at < got; at++) {
    offset[have++] = bytes[at];
    if (have < 8) continue;
    for (upto = 0, digit = 0; digit < 8; digit++) upto = upto << 8 | offset[digit];
    have = 0, whole = 1;
  }
  return !whole || pwrite(taken, &upto, 8, 0) == 8;
}

/* fields: id, offset. Sends the output of a kept command from there on until its end; what was before is taken. */
int take_kept(char **fields, int count) {
  struct task task = {COMMANDS, fields[0], NULL, 0, NULL, -1, 1};
  char state[64];
  uint64_t from;
  int ring, taken, changes;
  if (count != 2) return 125;
  from = strtoull(fields[1], NULL, 10);
  changes = watch_folder(&task, IN_MODIFY | IN_MOVED_TO);
  if ((ring = open_part(&task, "stdout", O_RDONLY)) < 0 || (taken = open_part(&task, "taken", O_RDWR)) < 0) return 3;
  if (pwrite(taken, &from, 8, 0) != 8) return 126;
  for (;;) {
    struct pollfd waits[3] = {{changes, POLLIN, 0}, {1, 0, 0}, {0, POLLIN, 0}};
    int sent;
    if (read_state(&task, state, sizeof state)) return 3;
    sent = send_new(ring, 0, &from, KEPT_FRAME_BYTES);
    if (!sent && strncmp(state, "running", 7)) break;
    poll(waits, 3, sent ? 0 : -1);
    if (waits[1].revents) return 0;
    if (waits[2].revents && !note_taken(taken)) return 0;
    if (waits[0].revents) forget_changes(changes);
  }
  dprintf(1, "state %s", state);
  return 0;
}

static void remove_folder(const struct task *task) {
  static const char *names[] = {"stdout", "stderr", "state", "input"};
  char folder[512], path[600];
  size_t at;
  join_path(folder, sizeof folder, task->home, task->id, "");
  for (at = 0; at < sizeof names / sizeof *names; at++) {
    join_path(path, sizeof path, folder, names[at], "");
    unlink(path);
  }
  rmdir(folder);
}

/* Answers that nobody has asked for again are forgotten after ten minutes; kept commands are not. */
static void forget_old(void) {
  DIR *folder = opendir(COMMANDS);
  struct dirent *entry;
  struct task other = {COMMANDS, NULL, NULL, 0, NULL, -1, 0};
  struct stat about;
  char path[512], state[64];
  if (!folder) return;
  while ((entry = readdir(folder))) {
    if (entry->d_name[0] == '.') continue;
    other.id = entry->d_name;
    join_path(path, sizeof path, COMMANDS, entry->d_name, "taken");
    if (stat(path, &about) == 0) continue;
    join_path(path, sizeof path, COMMANDS, entry->d_name, "state");
    if (stat(path, &about) || time(NULL) - about.st_mtime < FORGET_AFTER_SECONDS || read_state(&other, state, sizeof state) || !strncmp(state, "running", 7)) continue;
    remove_folder(&other);
  }
  closedir(folder);
}

/* Reads what the command shall read into a file without a name. -1: the caller went away before the end of it. */
static int read_input(size_t length) {
  static char bytes[CHUNK_BYTES];
  int fd;
  if (length > INPUT_BYTES) return -1;
  fd = open(COMMANDS, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  while (fd >= 0 && length > 0) {
    size_t part = length < sizeof bytes ? length : sizeof bytes;
    if (read_fully(0, bytes, part) || write_fully(fd, bytes, part)) {
      close(fd);
      return -1;
    }
    length -= part;
  }
  if (fd >= 0) lseek(fd, 0, SEEK_SET);
  return fd;
}

/* fields: id, directory, limit in ms, bytes of standard input, argv. Runs the command once, however often it is asked
   for by this id, and answers the last MiB of each stream and the state when it has ended. A byte on standard input says
   that the answer has been taken; until then it is kept for whoever asks again. */
int run_once(char **fields, int count) {
  struct task task = {COMMANDS, fields[0], fields[1], 0, fields + 4, -1, 0};
  struct pollfd waits[2] = {{-1, POLLIN, 0}, {1, 0, 0}}, answer = {0, POLLIN, 0};
  uint64_t from[2] = {0, 0};
  char state[64], byte;
  int stream, ring, tries = 0;
  if (count < 5) return 125;
  task.limit_ms = atoll(fields[2]);
  mkdir(COMMANDS, 0700);
  forget_old();
  if (atoll(fields[3]) > 0 && (task.input = read_input((size_t)atoll(fields[3]))) < 0) return 126;
  if (start_task(&task)) return 126;
  waits[0].fd = watch_folder(&task, IN_MOVED_TO);
  for (;;) {
    if (read_state(&task, state, sizeof state) == 0) {
      if (strncmp(state, "running", 7)) break;
      poll(waits, 2, -1);
      if (waits[1].revents) return 0;
      forget_changes(waits[0].fd);
    } else if (tries++ < STATE_TRIES) usleep(STATE_PAUSE_US);
    else return 3;
  }
  for (stream = 0; stream < 2; stream++) {
    if ((ring = open_part(&task, stream ? "stderr" : "stdout", O_RDONLY)) < 0) return 3;
    send_new(ring, stream, &from[stream], RING_BYTES);
    close(ring);
  }
  dprintf(1, "state %s", state);
  if (poll(&answer, 1, TAKEN_WAIT_MS) > 0 && read(0, &byte, 1) == 1) remove_folder(&task);
  return 0;
}
