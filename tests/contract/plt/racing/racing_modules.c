/* Backend case 6: threads open, call and close modules while the hook comes and goes.
   usage: racing_modules DIRECTORY SECONDS */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "slot_probe.h"

enum { kThreads = 4 };

static const char* directory;
static time_t end;
static _Atomic unsigned long calls;

/* Each thread has a module of its own, which comes and goes at an address that others use. */
static void* open_and_close(void* number) {
  char path[4096];
  snprintf(path, sizeof path, "%s/plt_racing_plugin_%d.so", directory, (int)(intptr_t)number);
  do {
    void* const handle = dlopen(path, (calls % 2) == 0 ? RTLD_NOW : RTLD_LAZY);
    REQUIRE(handle != NULL);
    void (*const allocate)(void) = (void (*)(void))dlsym(handle, "allocate_in_plugin");
    REQUIRE(allocate != NULL);
    allocate();
    ++calls;
    REQUIRE(dlclose(handle) == 0);
  } while (time(NULL) < end);
  return NULL;
}

static void run_threads(int count) {
  pthread_t threads[kThreads];
  for (intptr_t i = 0; i < count; ++i) {
    REQUIRE(pthread_create(&threads[i], NULL, &open_and_close, (void*)i) == 0);
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

static void install(void) {
  const char* const wrong = probe_install("plt_racing_plugin|racing_modules", NULL);
  if (wrong != NULL) fprintf(stderr, "%s\n", wrong);
  REQUIRE(wrong == NULL);
}

static void* install_and_uninstall(void* unused) {
  while (time(NULL) < end) {
    install();
    probe_refresh();
    probe_uninstall();
  }
  return unused;
}

static void race_with_installer(int count, time_t seconds) {
  end = time(NULL) + seconds;
  pthread_t installer;
  REQUIRE(pthread_create(&installer, NULL, &install_and_uninstall, NULL) == 0);
  run_threads(count);
  pthread_join(installer, NULL);
  REQUIRE(probe_hooked_slots() == 0);
}

int main(int count, char** arguments) {
  REQUIRE(count == 3);
  directory = arguments[1];
  const time_t seconds = atoi(arguments[2]);
  end = time(NULL) + seconds;
  install();
  run_threads(kThreads);
  REQUIRE(calls > 0);
  printf("%lu modules opened, %lu allocations seen, %lu times put off\n", calls,
         probe_allocations(), probe_put_off());
  /* A sanitizer makes the loader so slow that threads may wait too long for their turn; who does so
     behind dlopen and before dlsym allocates unseen. */
  REQUIRE(probe_put_off() <= calls / 2);
  REQUIRE(probe_allocations() + probe_put_off() / 2 >= calls);
  probe_uninstall();

  race_with_installer(kThreads, seconds);
  /* The only module to hook is often one that the loader has not filled yet. */
  race_with_installer(1, seconds);
  return 0;
}
