/* The guest's one program of ours: `berth serve` below init, and root's login shell for everything else. */
#ifndef GUEST_H
#define GUEST_H
#include <stddef.h>
#include <sys/types.h>

/* Largest message from the node and largest request of a command, in bytes. */
#define MESSAGE_BYTES (512 * 1024)
/* From SIGTERM to SIGKILL when the time of a command is up. */
#define KILL_AFTER_MS 5000
#define USER_ID 1000
#define USER_GROUP "/sys/fs/cgroup/user"
#define PROCESSES "/var/lib/berth/processes"
#define WORKSPACE "/home/user/workspace"

int serve(void);
int run_foreground(char **fields, int count);
int run_background(char **fields, int count);
int watch_background(char **fields, int count);
int kill_group(char **fields, int count);
int put_private(char **fields, int count);

/* run.c, used by background.c */
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
