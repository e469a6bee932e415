/* Preloaded into a server: its disk takes as many milliseconds to sync as the file named by SLOW_SYNC_FILE says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_as_told(void) {
  const char *path = getenv("SLOW_SYNC_FILE");
  FILE *file = path ? fopen(path, "r") : NULL;
  long ms = 0;
  if (!file) return;
  if (fscanf(file, "%ld", &ms) == 1 && ms > 0) usleep(ms * 1000);
  fclose(file);
}

int fdatasync(int fd) {
  wait_as_told();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}

int fsync(int fd) {
  wait_as_told();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
