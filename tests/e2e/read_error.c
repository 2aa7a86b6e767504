/* A disk that fails in the middle of a file, for a program under test: LD_PRELOAD this, and READ_ERROR names the file.
   Its mapping ends half-way, while its size stays; copies out of it within the kernel are errors of input and output. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fails(int fd) {
  const char* broken = getenv("READ_ERROR");
  char link[64], path[PATH_MAX];
  if (broken == NULL || fd < 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return strcmp(path, broken) == 0;
}

void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  static void* (*next)(void*, size_t, int, int, int, off_t);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "mmap");
  if (!fails(fd)) return next(address, size, protection, flags, fd, offset);
  const int half = memfd_create("half", MFD_CLOEXEC);
  char chunk[65536];
  for (size_t at = 0; at < size / 2;) {
    const ssize_t got = pread(fd, chunk, sizeof chunk, (off_t)at);
    if (got <= 0 || write(half, chunk, (size_t)got) != got) abort();
    at += (size_t)got;
  }
  if (ftruncate(half, (off_t)(size / 2)) != 0) abort();
  return next(address, size, protection, flags, half, offset);
}

ssize_t copy_file_range(int in, off64_t* from, int out, off64_t* to, size_t size, unsigned flags) {
  static ssize_t (*next)(int, off64_t*, int, off64_t*, size_t, unsigned);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "copy_file_range");
  if (!fails(in)) return next(in, from, out, to, size, flags);
  errno = EIO;
  return -1;
}
