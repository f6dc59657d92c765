/* Backend cases 16 (aliases, other tools' hooks), 18 (a hook that allocates), 19 (threads that
   end), 20 (fork), 21 (blocks from before and after), 22 (one event per operation), 23 (errno). */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slot_probe.h"

static void* volatile keep;
static volatile size_t huge = (size_t)1 << 40;
static void* (*volatile slot)(size_t) = malloc;

static unsigned long count_allocations(void (*work)(void)) {
  const unsigned long before = probe_allocations();
  work();
  return probe_allocations() - before;
}

static void use_aliases(void) {
  free(keep = memalign(64, 64));
  free(keep = aligned_alloc(64, 64));
}

static void allocate_and_free(void) { free(keep = malloc(100)); }

static void* others_malloc(size_t size) { return calloc(1, size); }

/* 16: another tool hooks the slot after us, and goes on when we have gone. */
static void check_other_tool(void) {
  void* (*const ours)(size_t) = slot;
  slot = &others_malloc;
  probe_uninstall();
  REQUIRE(slot == &others_malloc);
  REQUIRE(ours != slot);
  /* And before us. */
  REQUIRE(probe_install("hooked_calls", NULL) == NULL);
  REQUIRE(slot == &others_malloc);
  probe_uninstall();
  slot = malloc;
  REQUIRE(probe_install("hooked_calls", NULL) == NULL);
}

static void use_every_function(void) {
  void* block = NULL;
  REQUIRE(posix_memalign(&block, 64, 100) == 0);
  free(block);
  REQUIRE(posix_memalign(&block, 3, 100) == EINVAL);
  keep = realloc(NULL, 10);
  keep = reallocarray(keep, 10, 10);
  REQUIRE(malloc_usable_size(keep) >= 100);
  REQUIRE(realloc(keep, huge << 20) == NULL);
  REQUIRE(realloc(keep, 0) == NULL);
  REQUIRE(calloc(huge, huge) == NULL);
  free(keep = strdup("text"));
  free(keep = strndup("text", 2));
  free(keep = valloc(10));
  free(keep = pvalloc(10));
  free(NULL);
}

/* 22 */
static void check_every_function(void) {
  const unsigned long allocations = probe_allocations();
  const unsigned long frees = probe_frees();
  const unsigned long reallocations = probe_reallocations();
  use_every_function();
  REQUIRE(probe_allocations() - allocations == 7);
  REQUIRE(probe_frees() - frees == 5);
  REQUIRE(probe_reallocations() - reallocations == 2);
}

/* 23 */
static void check_errno(void) {
  errno = EDOM;
  free(keep = malloc(10));
  REQUIRE(errno == EDOM);
  REQUIRE(malloc(huge << 20) == NULL);
  REQUIRE(errno == ENOMEM);
}

static pthread_key_t key;

static void* end_with_block(void* unused) {
  pthread_setspecific(key, malloc(10));
  return unused;
}

/* 19 */
static void check_threads(void) {
  enum { kThreads = 2000 };
  REQUIRE(pthread_key_create(&key, &free) == 0);
  const unsigned long allocations = probe_allocations();
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, &end_with_block, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
  }
  REQUIRE(probe_allocations() - allocations == kThreads);
}

static volatile int stop;

static void* allocate_until_stopped(void* unused) {
  while (!stop) free(malloc(50));
  return unused;
}

static void run_child(void) {
  const unsigned long before = probe_allocations();
  free(keep = malloc(10));
  _exit(probe_allocations() - before == 1 ? 0 : 1);
}

/* 20 */
static void check_fork(void) {
  enum { kThreads = 8 };
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    REQUIRE(pthread_create(&threads[i], NULL, &allocate_until_stopped, NULL) == 0);
  }
  for (int i = 0; i < 20; ++i) {
    int status = -1;
    const pid_t child = fork();
    if (child == 0) run_child();
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  }
  pid_t child = 0;
  int status = -1;
  char* arguments[] = {"true", NULL};
  REQUIRE(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0);
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  stop = 1;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

int main(void) {
  void* const early = malloc(10);
  REQUIRE(probe_install("hooked_calls", NULL) == NULL);
  free(early);
  void* const late = malloc(10);

  REQUIRE(count_allocations(&use_aliases) == 2);
  check_other_tool();
  probe_make_noise(1);
  REQUIRE(count_allocations(&allocate_and_free) == 1);
  REQUIRE(count_allocations(&use_aliases) == 2);
  probe_make_noise(0);
  check_every_function();
  check_errno();
  check_threads();
  check_fork();

  probe_uninstall();
  free(late);
  REQUIRE(count_allocations(&allocate_and_free) == 0);
  return 0;
}
