/* Reads which request it is. dropbear starts us as `berth -c <text>`, the text being base64 of NUL-terminated fields;
   what is too long for a command line comes on standard input behind its length, and the text is `-`. */
#include "guest.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int digit(int c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t decode(const char *text, char *out) {
  size_t length = 0;
  uint32_t held = 0;
  int bits = 0;
  for (; digit(*text) >= 0; text++) {
    held = held << 6 | (uint32_t)digit(*text);
    bits += 6;
    if (bits >= 8) out[length++] = (char)(held >> (bits -= 8));
  }
  return length;
}

static size_t read_request(const char *text, char **request) {
  size_t length;
  unsigned char size[4];
  if (strcmp(text, "-")) {
    *request = malloc(strlen(text) + 1);
    length = decode(text, *request);
  } else {
    if (read_fully(0, size, 4)) return 0;
    length = (size_t)size[0] << 24 | size[1] << 16 | size[2] << 8 | size[3];
    if (length > MESSAGE_BYTES) return 0;
    *request = malloc(length + 1);
    if (read_fully(0, *request, length)) return 0;
  }
  return length > 0 && (*request)[length - 1] == 0 ? length : 0;
}

/* fields: env or session.json. Keeps standard input in memory, never on disk: the variables of all commands, for root
   only; or the session, for the user. Nothing on standard input removes it; exit code 3 when there was none. */
int put_private(char **fields, int count) {
  static char bytes[MESSAGE_BYTES];
  char path[64], next[64];
  size_t length = 0;
  ssize_t got;
  int fd;
  if (count != 1 || (strcmp(fields[0], "env") && strcmp(fields[0], "session.json"))) return 125;
  snprintf(path, sizeof path, "/run/berth/%s", fields[0]);
  snprintf(next, sizeof next, "%s.next", path);
  while (length < sizeof bytes && (got = read(0, bytes + length, sizeof bytes - length)) > 0) length += (size_t)got;
  if (length == 0) return unlink(path) ? 3 : 0;
  fd = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write_fully(fd, bytes, length)) return 126;
  if (!strcmp(fields[0], "session.json") && fchown(fd, USER_ID, USER_ID)) return 126;
  return rename(next, path) ? 126 : 0;
}

int main(int argc, char **argv) {
  char *request = NULL, **fields;
  size_t length, at;
  int count = 0;
  if (argc == 2 && !strcmp(argv[1], "serve")) return serve();
  if (argc != 3 || strcmp(argv[1], "-c")) return 125;
  length = read_request(argv[2], &request);
  if (length == 0) return 125;
  fields = calloc(length + 1, sizeof *fields);
  for (at = 0; at < length; at += strlen(request + at) + 1) fields[count++] = request + at;
  if (!strcmp(fields[0], "run")) return run_foreground(fields + 1, count - 1);
  if (!strcmp(fields[0], "start")) return run_background(fields + 1, count - 1);
  if (!strcmp(fields[0], "watch")) return watch_background(fields + 1, count - 1);
  if (!strcmp(fields[0], "once")) return run_once(fields + 1, count - 1);
  if (!strcmp(fields[0], "keep")) return run_kept(fields + 1, count - 1);
  if (!strcmp(fields[0], "take")) return take_kept(fields + 1, count - 1);
  if (!strcmp(fields[0], "put")) return put_private(fields + 1, count - 1);
  if (!strcmp(fields[0], "kill")) return kill_group(fields + 1, count - 1);
  return 125;
}
