/* Runs one command: its own session, its own control group, the environment the node pushed. */
#define _GNU_SOURCE
#include "guest.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ENVIRONMENT_ENTRIES 512
#define JOIN_TRIES 5
#define CLONE_INTO_CGROUP 0x200000000ULL

int read_fully(int fd, void *buffer, size_t length) {
  char *at = buffer;
  while (length > 0) {
    ssize_t got = read(fd, at, length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    at += got;
    length -= (size_t)got;
  }
  return 0;
}

int write_fully(int fd, const void *buffer, size_t length) {
  const char *at = buffer;
  while (length > 0) {
    ssize_t put = write(fd, at, length);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return -1;
    at += put;
    length -= (size_t)put;
  }
  return 0;
}

void join_path(char *out, size_t size, const char *folder, const char *id, const char *name) {
  snprintf(out, size, "%s/%s%s%s", folder, id, *name ? "/" : "", name);
}

int write_text(const char *path, const char *text, int flags) {
  int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);
  int failed;
  if (fd < 0) return -1;
  failed = write_fully(fd, text, strlen(text));
  close(fd);
  return failed;
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Removes the groups that are empty; rmdir refuses the others. */
void sweep_groups(void) {
  DIR *folder = opendir(USER_GROUP);
  struct dirent *entry;
  char path[512];
  if (!folder) return;
  while ((entry = readdir(folder))) {
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
    join_path(path, sizeof path, USER_GROUP, entry->d_name, "");
    rmdir(path);
  }
  closedir(folder);
}

/* fork, with the child born in its group: moving a process there afterwards waits 20 ms for the kernel.
   Another command's sweep may remove the group before the child is in it, hence the tries. */
static pid_t fork_into_group(const char *id) {
  struct { uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup; } how;
  char folder[512];
  int tries;
  pid_t child = -1;
  join_path(folder, sizeof folder, USER_GROUP, id, "");
  for (tries = 0; tries < JOIN_TRIES && child < 0; tries++) {
    int group;
    mkdir(folder, 0755);
    if ((group = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) continue;
    memset(&how, 0, sizeof how);
    how.flags = CLONE_INTO_CGROUP;
    how.exit_signal = SIGCHLD;
    how.cgroup = (uint64_t)group;
    child = (pid_t)syscall(SYS_clone3, &how, sizeof how);
    close(group);
  }
  return child;
}

/* Adds the NUL-terminated KEY=value entries of a file; a later entry replaces an earlier one of the same name. */
static int add_environment(const char *path, char **entries, int count) {
  struct stat about;
  char *text;
  size_t at;
  int slot, fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return count;
  if (fstat(fd, &about) || about.st_size == 0 || about.st_size > MESSAGE_BYTES || !(text = calloc(1, (size_t)about.st_size + 1)) || read_fully(fd, text, (size_t)about.st_size)) {
    close(fd);
    return count;
  }
  close(fd);
  for (at = 0; at < (size_t)about.st_size; at += strlen(text + at) + 1) {
    size_t name = strcspn(text + at, "=") + 1;
    for (slot = 0; slot < count && strncmp(entries[slot], text + at, name); slot++);
    if (slot < ENVIRONMENT_ENTRIES) entries[slot] = text + at;
    if (slot == count && count < ENVIRONMENT_ENTRIES) count++;
  }
  return count;
}

static void become_user(void) {
  gid_t groups[] = {USER_ID};
  if (setgroups(1, groups) || setresgid(USER_ID, USER_ID, USER_ID) || setresuid(USER_ID, USER_ID, USER_ID)) _exit(126);
}

/* Ends the child with a sentence on its standard error, as a shell would. */
static void refuse(const char *what, int code) {
  const char *why = strerror(errno);
  dprintf(2, "%s: %s\n", what, why);
  _exit(code);
}

int start_child(const char *id, int as_user, const char *directory, char **argv, const int fds[3]) {
  static char *environment[ENVIRONMENT_ENTRIES + 1];
  sigset_t none;
  int count, number;
  pid_t child = as_user ? fork_into_group(id) : fork();
  if (child != 0) return child;
  setsid();
  for (number = 0; number < 3; number++)
    if (fds[number] != number) dup2(fds[number], number);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  count = add_environment("/usr/lib/berth/env", environment, 0);
  if (as_user) {
    write_text("/proc/self/oom_score_adj", "500", 0);
    count = add_environment("/run/berth/env", environment, count);
    become_user();
  } else {
    environment[count++] = "HOME=/root";
  }
  environment[count] = NULL;
  if (chdir(directory)) refuse(directory, 126);
  clearenv();
  for (number = 0; environment[number]; number++) putenv(environment[number]);
  execvp(argv[0], argv);
  refuse(argv[0], errno == ENOENT || errno == ENOTDIR ? 127 : 126);
  return -1;
}

long long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Signals the whole group: by name to the kernel where it is a kill, else member by member. */
static int signal_group(const char *id, int number) {
  char path[512], line[32];
  FILE *members;
  join_path(path, sizeof path, USER_GROUP, id, number == SIGKILL ? "cgroup.kill" : "cgroup.procs");
  if (number == SIGKILL) return write_text(path, "1", 0);
  if (!(members = fopen(path, "re"))) return -1;
  while (fgets(line, sizeof line, members)) kill(atoi(line), number);
  fclose(members);
  return 0;
}

/* fields: id signal. Exit code 3 when there is no such group, or nothing in it any more: then it goes, because a sweep
   that came before its last member was gone would leave it for good. */
int kill_group(char **fields, int count) {
  char path[512];
  if (count != 2) return 125;
  join_path(path, sizeof path, USER_GROUP, fields[0], "");
  if (rmdir(path) == 0) return 3;
  return signal_group(fields[0], atoi(fields[1])) ? 3 : 0;
}

/* At first the process group is asked to end; later everything that came of the command is killed. */
void end_group(const char *id, int as_user, pid_t child, int number) {
  if (!as_user || number == SIGTERM) kill(-child, number);
  else signal_group(id, number);
}

/* fields: id, user|root, directory, limit in ms, argv. Waits for the command, its time limit, or the caller's going away. */
int run_foreground(char **fields, int count) {
  const int inherited[3] = {0, 1, 2};
  struct pollfd caller = {1, 0, 0};
  struct timespec tick = {0, 0};
  sigset_t news;
  long long deadline;
  int status, as_user, timed_out = 0;
  pid_t child;
  char path[512];
  if (count < 5) return 125;
  as_user = !strcmp(fields[1], "user");
  deadline = now_ms() + atoll(fields[3]);
  sigemptyset(&news);
  sigaddset(&news, SIGCHLD);
  sigaddset(&news, SIGTERM); /* how the node says that nobody wants the answer any more */
  sigprocmask(SIG_BLOCK, &news, NULL);
  child = start_child(fields[0], as_user, fields[2], fields + 4, inherited);
  if (child < 0) return 126;
  while (waitpid(child, &status, WNOHANG) == 0) {
    long long left = deadline - now_ms();
    if (left <= 0) {
      end_group(fields[0], as_user, child, timed_out ? SIGKILL : SIGTERM);
      deadline = now_ms() + KILL_AFTER_MS;
      timed_out = 1;
      continue;
    }
    /* A lost connection says nothing: looked for twice a second. */
    tick.tv_sec = 0;
    tick.tv_nsec = (left < 500 ? left : 500) * 1000000;
    if (sigtimedwait(&news, NULL, &tick) == SIGTERM || (poll(&caller, 1, 0) > 0 && (caller.revents & (POLLERR | POLLHUP)))) end_group(fields[0], as_user, child, SIGKILL);
  }
  if (timed_out) end_group(fields[0], as_user, child, SIGKILL);
  join_path(path, sizeof path, USER_GROUP, fields[0], "");
  if (as_user && rmdir(path)) sweep_groups();
  if (timed_out) raise(SIGALRM); /* how the node tells a time limit from a command that answers 124 itself */
  return exit_code_of(status);
}
