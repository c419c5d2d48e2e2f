/* Faults at the system calls of a process that change files below a folder. Preloaded (LD_PRELOAD); see kills.py.

   Each call is an event of a kind. At the n-th event of the chosen kinds, the process is killed before the call, after
   it, or in the middle of a write; or this and all later calls that need space fail with an error number. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RENAME = 1, SYNC = 2, WRITE = 4, CREATE = 8, REMOVE = 16 };
enum { COUNT = 0, KILL_BEFORE = 1, KILL_AFTER = 2, KILL_WITHIN = 3, FAIL = 4 };

static char prefix[4096];
static size_t prefix_size;
static int chosen, action, number;
static atomic_long events, nth;
static _Thread_local int inside;

void torture_arm(const char *folder, int kinds, long n, int what, int error) {
  snprintf(prefix, sizeof prefix, "%s", folder);
  prefix_size = strlen(prefix);
  chosen = kinds, action = what, number = error;
  atomic_store(&nth, n);
  atomic_store(&events, 0);
}

long torture_events(void) { return atomic_load(&events); }

static int below(const char *path) { return prefix_size && !strncmp(path, prefix, prefix_size); }

static int at_path(int folder, const char *path) {
  if (!prefix_size || !path) return 0;
  if (path[0] == '/') return below(path);
  char link[64], found[4096];
  if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
  else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  ssize_t size = readlink(link, found, sizeof found - 1);
  if (size < 0) return 0;
  found[size] = 0;
  return below(found);
}

static int at_file(int file) { return file > 2 && at_path(file, "."); }

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/* What to do at this event: COUNT for nothing. */
static int event(int kind) {
  if (!(kind & chosen) || inside) return COUNT;
  long now = atomic_fetch_add(&events, 1) + 1, when = atomic_load(&nth);
  if (action == FAIL) return when && now >= when && kind != SYNC ? FAIL : COUNT;
  if (!when || now != when) return COUNT;
  if (action == KILL_BEFORE) die();
  return action;
}

#define REAL(result, name, ...) \
  static result (*real)(__VA_ARGS__); \
  if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define AROUND(kind, ours, call) \
  int what = (ours) ? event(kind) : COUNT; \
  if (what == FAIL) { errno = number; return -1; } \
  __auto_type result = (call); \
  if (what == KILL_AFTER || what == KILL_WITHIN) die(); \
  return result

int rename(const char *a, const char *b) {
  REAL(int, "rename", const char *, const char *);
  AROUND(RENAME, at_path(AT_FDCWD, b), real(a, b));
}
int renameat(int x, const char *a, int y, const char *b) {
  REAL(int, "renameat", int, const char *, int, const char *);
  AROUND(RENAME, at_path(y, b), real(x, a, y, b));
}
int renameat2(int x, const char *a, int y, const char *b, unsigned flags) {
  REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
  AROUND(RENAME, at_path(y, b), real(x, a, y, b, flags));
}
int symlink(const char *a, const char *b) {
  REAL(int, "symlink", const char *, const char *);
  AROUND(CREATE, at_path(AT_FDCWD, b), real(a, b));
}
int mkdir(const char *path, mode_t mode) {
  REAL(int, "mkdir", const char *, mode_t);
  AROUND(CREATE, at_path(AT_FDCWD, path), real(path, mode));
}
int unlink(const char *path) {
  REAL(int, "unlink", const char *);
  AROUND(REMOVE, at_path(AT_FDCWD, path), real(path));
}
int unlinkat(int folder, const char *path, int flags) {
  REAL(int, "unlinkat", int, const char *, int);
  AROUND(REMOVE, at_path(folder, path), real(folder, path, flags));
}
int rmdir(const char *path) {
  REAL(int, "rmdir", const char *);
  AROUND(REMOVE, at_path(AT_FDCWD, path), real(path));
}
int fsync(int file) {
  REAL(int, "fsync", int);
  AROUND(SYNC, at_file(file), real(file));
}
int fdatasync(int file) {
  REAL(int, "fdatasync", int);
  AROUND(SYNC, at_file(file), real(file));
}

#define OPENING(at, ...) \
  mode_t mode = 0; \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  } \
  AROUND(CREATE, (flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR)) && at_path(at, path), real(__VA_ARGS__, mode))

int open(const char *path, int flags, ...) {
  REAL(int, "open", const char *, int, ...);
  OPENING(AT_FDCWD, path, flags);
}
int open64(const char *path, int flags, ...) {
  REAL(int, "open64", const char *, int, ...);
  OPENING(AT_FDCWD, path, flags);
}
int openat(int folder, const char *path, int flags, ...) {
  REAL(int, "openat", int, const char *, int, ...);
  OPENING(folder, folder, path, flags);
}
int openat64(int folder, const char *path, int flags, ...) {
  REAL(int, "openat64", int, const char *, int, ...);
  OPENING(folder, folder, path, flags);
}

#define WRITING(real_call, half_call) \
  int what = at_file(file) ? event(WRITE) : COUNT; \
  if (what == FAIL) { errno = number; return -1; } \
  if (what == KILL_WITHIN) { inside = 1; if (half_call) {} die(); } \
  __auto_type result = (real_call); \
  if (what == KILL_AFTER) die(); \
  return result

ssize_t write(int file, const void *from, size_t size) {
  REAL(ssize_t, "write", int, const void *, size_t);
  WRITING(real(file, from, size), real(file, from, size / 2));
}
ssize_t pwrite(int file, const void *from, size_t size, off_t at) {
  REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
  WRITING(real(file, from, size, at), real(file, from, size / 2, at));
}
ssize_t pwrite64(int file, const void *from, size_t size, off64_t at) {
  REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
  WRITING(real(file, from, size, at), real(file, from, size / 2, at));
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  REAL(ssize_t, "writev", int, const struct iovec *, int);
  WRITING(real(file, parts, count), real(file, parts, count / 2));
}
ssize_t copy_file_range(int from, off64_t *a, int file, off64_t *b, size_t size, unsigned flags) {
  REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
  WRITING(real(from, a, file, b, size, flags), real(from, a, file, b, size / 2, flags));
}
ssize_t sendfile(int file, int from, off_t *at, size_t size) {
  REAL(ssize_t, "sendfile", int, int, off_t *, size_t);
  WRITING(real(file, from, at, size), real(file, from, at, size / 2));
}
ssize_t sendfile64(int file, int from, off64_t *at, size_t size) {
  REAL(ssize_t, "sendfile64", int, int, off64_t *, size_t);
  WRITING(real(file, from, at, size), real(file, from, at, size / 2));
}
int ftruncate(int file, off_t size) {
  REAL(int, "ftruncate", int, off_t);
  AROUND(WRITE, at_file(file), real(file, size));
}
int ftruncate64(int file, off64_t size) {
  REAL(int, "ftruncate64", int, off64_t);
  AROUND(WRITE, at_file(file), real(file, size));
}
