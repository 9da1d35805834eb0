/* The guest's one program of ours: `berth serve` below init, and root's login shell for everything else. */
#ifndef GUEST_H
#define GUEST_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Largest message from the node and largest request of a command, in bytes. */
#define MESSAGE_BYTES (512 * 1024)
/* From SIGTERM to SIGKILL when the time of a command is up. */
#define KILL_AFTER_MS 5000
#define USER_ID 1000
#define USER_GROUP "/sys/fs/cgroup/user"
#define WORKSPACE "/home/user/workspace"
/* Processes in the background: on disk, so that what they printed is there after a boot. */
#define PROCESSES "/var/lib/berth/processes"
/* Commands whose answer the node waits for: in memory, so that they work on a full disk and leave nothing on it. */
#define COMMANDS "/run/berth/commands"

/* A ring is 8 bytes (how many bytes were ever written) and then the last MiB of them, with room for one chunk
   more, so that a chunk being written never touches what may be read. */
#define RING_BYTES (1024 * 1024)
#define CHUNK_BYTES (64 * 1024)
#define ROUND_BYTES (RING_BYTES + CHUNK_BYTES)

/* A supervised command. Its folder below `home` has a ring for each stream and its state. `kept`: both streams are
   one, and of it nothing is written over before the node has taken it. */
struct task {
  const char *home, *id, *directory;
  long long limit_ms; /* 0: none */
  char **argv;
  int input; /* what the command reads */
  int kept;
};

int serve(void);
int run_foreground(char **fields, int count);
int run_background(char **fields, int count);
int run_kept(char **fields, int count);
int run_once(char **fields, int count);
int watch_background(char **fields, int count);
int take_kept(char **fields, int count);
int kill_group(char **fields, int count);
int put_private(char **fields, int count);

/* background.c, used by watch.c */
int start_task(const struct task *task);
int open_part(const struct task *task, const char *name, int flags);
int read_state(const struct task *task, char *state, size_t size);

/* run.c */
int start_child(const char *id, int as_user, const char *directory, char **argv, const int fds[3]);
void join_path(char *out, size_t size, const char *folder, const char *id, const char *name);
int write_text(const char *path, const char *text, int flags);
int exit_code_of(int status);
void sweep_groups(void);
void end_group(const char *id, int as_user, pid_t child, int number);
long long now_ms(void);
int read_fully(int fd, void *buffer, size_t length);
int write_fully(int fd, const void *buffer, size_t length);
#endif
