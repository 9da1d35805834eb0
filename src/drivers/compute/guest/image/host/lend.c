/* Lends one open file to a program of this host that runs as another user: where it would open LENT_PATH it gets a copy of
   the descriptor LENT_FILE instead, which is open for reading only. So a file that every machine of a tenant, or every
   tenant, starts from needs no permissions for any of them. QEMU before 8.2 also asks to write to the file of a memory that
   it maps copy-on-write; it does not need to. Preloaded; uses nothing but the C library that is there already. */
#define DUPLICATE 1030 /* F_DUPFD_CLOEXEC */
#define CURRENT_FOLDER -100
#define FIRST_FREE 16

int openat64(int folder, const char *path, int flags, ...);
int fcntl(int fd, int command, ...);
char *getenv(const char *name);
int strcmp(const char *one, const char *other);
int atoi(const char *digits);

static int open_or_lend(const char *path, int flags, unsigned mode) {
  const char *lent = getenv("LENT_PATH"), *file = getenv("LENT_FILE");
  if (lent && file && strcmp(path, lent) == 0) return fcntl(atoi(file), DUPLICATE, FIRST_FREE);
  return openat64(CURRENT_FOLDER, path, flags, mode);
}

int open(const char *path, int flags, unsigned mode) { return open_or_lend(path, flags, mode); }
int open64(const char *path, int flags, unsigned mode) { return open_or_lend(path, flags, mode); }
int __open_2(const char *path, int flags) { return open_or_lend(path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_or_lend(path, flags, 0); }
