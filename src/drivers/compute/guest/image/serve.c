/* Waits for the node to make this machine one of a kind, then takes SSH connections. Started again by init when it ends.
   Messages come over a serial port: kind (1 byte), length (4 bytes, big endian), bytes. Answers are lines. */
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PORT_TO_NODE "/run/berth/node"
#define FOLDER_DISK "/dev/vdb"
#define SESSIONS 32
#define ADD_ENTROPY 0x40085203 /* RNDADDENTROPY */
#define RESEED 0x5207          /* RNDRESEEDCRNG */
#define FLUSH_BUFFERS 0x1261   /* BLKFLSBUF */

static int node_port = -1;
static int ssh_port = -1;
static pid_t sessions[SESSIONS]; /* the process of each SSH connection; 0 is a free place */

static void put_file(const char *path, const unsigned char *bytes, size_t length, int mode) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return;
  write_fully(fd, bytes, length);
  close(fd);
}

/* Every twin of one snapshot has the same random state until this. */
static void add_entropy(const unsigned char *bytes, size_t length) {
  struct { int bits, size; unsigned char bytes[256]; } pool;
  int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (length > sizeof pool.bytes) length = sizeof pool.bytes;
  pool.bits = (int)length * 8;
  pool.size = (int)length;
  memcpy(pool.bytes, bytes, length);
  ioctl(fd, ADD_ENTROPY, &pool);
  ioctl(fd, RESEED);
  close(fd);
}

static void set_clock(const char *text) {
  struct timespec moment;
  char *rest;
  moment.tv_sec = strtoll(text, &rest, 10);
  moment.tv_nsec = strtol(rest, NULL, 10);
  clock_settime(CLOCK_REALTIME, &moment);
}

static void set_hostname(const char *name) {
  char hosts[512];
  sethostname(name, strlen(name));
  snprintf(hosts, sizeof hosts, "%s\n", name);
  put_file("/run/berth/hostname", (unsigned char *)hosts, strlen(hosts), 0644);
  snprintf(hosts, sizeof hosts, "127.0.0.1 localhost\n127.0.1.1 %s\n::1 localhost\n", name);
  put_file("/run/berth/hosts", (unsigned char *)hosts, strlen(hosts), 0644);
}

static int mount_folder(void) {
  /* The disk is another one than at the moment of the snapshot: nothing remembered of it may be used. */
  int fd = open(FOLDER_DISK, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ioctl(fd, FLUSH_BUFFERS, 0);
  close(fd);
  return mount(FOLDER_DISK, WORKSPACE, "ext4", MS_NOSUID | MS_NODEV | MS_NOATIME, "noinit_itable");
}

static int listen_for_ssh(void) {
  struct sockaddr_in address;
  int on = 1;
  ssh_port = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons(22);
  setsockopt(ssh_port, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(ssh_port, (struct sockaddr *)&address, sizeof address)) return -1;
  return listen(ssh_port, SESSIONS);
}

static void power_off(void) {
  write_text(USER_GROUP "/cgroup.kill", "1", 0);
  sync();
  umount2(WORKSPACE, MNT_DETACH);
  mount("", "/", "", MS_REMOUNT | MS_RDONLY, "");
  sync();
  reboot(RB_POWER_OFF);
}

/* After a lost connection the node takes its places again, the forwarded port among them. */
static void end_sessions(void) {
  int place;
  for (place = 0; place < SESSIONS; place++) {
    if (sessions[place] == 0) continue;
    kill(sessions[place], SIGKILL);
    waitpid(sessions[place], NULL, 0);
    sessions[place] = 0;
  }
}

static void answer(const char *line) {
  if (write_fully(node_port, line, strlen(line))) return;
}

static void obey(char kind, unsigned char *bytes, size_t length) {
  bytes[length] = 0;
  if (kind == 'e') add_entropy(bytes, length);
  if (kind == 't') set_clock((char *)bytes);
  if (kind == 'h') set_hostname((char *)bytes);
  if (kind == 'm') put_file("/run/berth/machine-id", bytes, length, 0444);
  if (kind == 'k') put_file("/run/berth/hostkey", bytes, length, 0600);
  if (kind == 'a') put_file("/run/berth/ssh/authorized_keys", bytes, length, 0600);
  if (kind == 'f') answer(mount_folder() ? "folder failed\n" : "folder mounted\n");
  if (kind == 'u') answer(umount2(WORKSPACE, 0) ? "folder failed\n" : "folder unmounted\n");
  if (kind == 'o') power_off();
  if (kind == 'x') {
    end_sessions();
    answer("sessions ended\n");
  }
  if (kind == 'w') answer(system("/usr/lib/berth/warm") ? "warming failed\n" : "warm\n");
  if (kind == 'g') {
    write_text("/run/berth/ready", "", O_CREAT);
    answer(ssh_port >= 0 || listen_for_ssh() == 0 ? "ready\n" : "failed\n");
  }
}

static void take_message(void) {
  static unsigned char bytes[MESSAGE_BYTES + 1];
  unsigned char head[5];
  size_t length;
  if (read_fully(node_port, head, 5)) return;
  length = (size_t)head[1] << 24 | head[2] << 16 | head[3] << 8 | head[4];
  if (length > MESSAGE_BYTES || read_fully(node_port, bytes, length)) return;
  obey((char)head[0], bytes, length);
}

static void take_connection(void) {
  int on = 1, place, fd = accept4(ssh_port, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) return;
  for (place = 0; place < SESSIONS && sessions[place] != 0; place++);
  if (place < SESSIONS) {
    pid_t child = fork();
    if (child == 0) {
      setsid();
      setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, sizeof on);
      dup2(fd, 0), dup2(fd, 1);
      signal(SIGPIPE, SIG_DFL);
      execl("/usr/sbin/dropbear", "dropbear", "-i", "-s", "-r", "/run/berth/hostkey", "-D", "/run/berth/ssh", NULL);
      _exit(126);
    }
    if (child > 0) sessions[place] = child;
  }
  close(fd);
}

static void forget_ended(void) {
  pid_t child;
  int place;
  while ((child = waitpid(-1, NULL, WNOHANG)) > 0)
    for (place = 0; place < SESSIONS; place++)
      if (sessions[place] == child) sessions[place] = 0;
}

int serve(void) {
  struct pollfd waits[2];
  signal(SIGPIPE, SIG_IGN);
  write_text("/proc/self/oom_score_adj", "-1000", 0);
  mkdir("/run/berth", 0755);
  mkdir("/run/berth/ssh", 0700);
  while ((node_port = open(PORT_TO_NODE, O_RDWR | O_CLOEXEC)) < 0) usleep(20000);
  if (access("/run/berth/ready", F_OK) == 0) listen_for_ssh();
  for (;;) {
    /* While no node is at the other end of the port it is always "ready": look again now and then instead. */
    int absent;
    waits[0].fd = node_port, waits[0].events = POLLIN, waits[0].revents = 0;
    waits[1].fd = ssh_port, waits[1].events = POLLIN, waits[1].revents = 0;
    poll(waits, 2, -1);
    absent = waits[0].revents & POLLHUP;
    if (absent) poll(waits + 1, 1, ssh_port < 0 ? 5 : 250);
    if (waits[0].revents & POLLIN && !absent) take_message();
    if (waits[1].revents & POLLIN) take_connection();
    forget_ended();
  }
}
