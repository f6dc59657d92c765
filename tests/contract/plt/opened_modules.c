/* Backend cases 5 and 7, at the moment when dlopen returns: what was opened is hooked though nobody
   asked for a symbol, and the loader, unwinders and exceptions saw nothing of it. Plug-ins stand
   beside the program and hand their function to it when they are constructed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <string.h>

#include "slot_probe.h"

typedef void Allocate(void);

static const char* directory;
static Allocate* offered;
/* What the next constructor is to open. */
static const char* nested;
static unsigned stacks;
/* The function that calls dlopen or dlmopen. */
static const char* opener;

static const char* beside(const char* name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static void require_one_event(Allocate* allocate) {
  const unsigned long before = probe_allocations();
  REQUIRE(allocate != NULL);
  allocate();
  REQUIRE(probe_allocations() == before + 1);
}

/* Which of the frames is the one of `name`; `count` where none is. */
static size_t find_frame(const char* name, void* const* frames, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Dl_info info;
    const int found = dladdr((char*)frames[i] - 1, &info);
    if (found != 0 && info.dli_sname != NULL && strcmp(info.dli_sname, name) == 0) return i;
  }
  return count;
}

/* Every larger program has a function that saves next to nothing, for dlopen to return through. */
int two_more(int (*function)(void)) { return function() + 2; }

/* From inside of dlopen, two unwinders find all frames up to the program's start. */
static void check_stack(void) {
  enum { kRoom = 100 };
  uintptr_t addresses[kRoom];
  void* walked[kRoom];
  void* frames[kRoom];
  const size_t count = probe_stack(addresses, kRoom);
  const size_t walked_count = (size_t)backtrace(walked, kRoom);
  REQUIRE(count > 0 && walked_count > 0 && walked_count < kRoom);
  for (size_t i = 0; i < count; ++i) frames[i] = (void*)addresses[i];
  const size_t main_frame = find_frame("main", frames, count);
  const size_t walked_main = find_frame("main", walked, walked_count);
  REQUIRE(main_frame < count && walked_main < walked_count);
  REQUIRE(find_frame(opener, frames, count) < main_frame);
  REQUIRE(main_frame == walked_main);
  /* The first are both this function's. */
  for (size_t i = 1; i <= main_frame; ++i) REQUIRE(frames[i] == walked[i]);
  ++stacks;
}

__attribute__((noinline)) void* open_here(const char* name) {
  opener = "open_here";
  void* volatile const handle = dlopen(beside(name), RTLD_NOW);
  return handle;
}

__attribute__((noinline)) void* open_in(Lmid_t namespace, const char* name) {
  opener = "open_in";
  void* volatile const handle = dlmopen(namespace, beside(name), RTLD_NOW);
  return handle;
}

/* Called by constructors. The slots of a module that is being opened are filled by then. */
void offer(Allocate* allocate) {
  const char* const name = nested;
  nested = NULL;
  if (name != NULL) {
    REQUIRE(open_here(name) != NULL);
    require_one_event(offered);
    require_one_event(allocate);
  }
  offered = allocate;
  if (opener != NULL) check_stack();
}

static void check_opened(void) {
  offered = NULL;
  void* const handle = open_here("plt_offering_plugin.so");
  require_one_event(offered);
  REQUIRE(dlerror() == NULL);
  offered = NULL;
  REQUIRE(dlclose(handle) == 0);
}

static void check_nested(void) {
  const unsigned before = stacks;
  nested = "plt_second_offering_plugin.so";
  void* const handle = open_here("plt_offering_plugin.so");
  REQUIRE(handle != NULL && stacks == before + 2);
  require_one_event(offered);
  offered = NULL;
  REQUIRE(dlclose(handle) == 0);
}

static void check_namespaces(void) {
  void* const ours = open_in(LM_ID_BASE, "plt_offering_plugin.so");
  REQUIRE(ours != NULL);
  require_one_event(offered);
  offered = NULL;
  REQUIRE(dlclose(ours) == 0);
  /* Nothing is seen of another namespace, and nothing breaks there. */
  void* const other = open_in(LM_ID_NEWLM, "plt_plugin.so");
  REQUIRE(other != NULL);
  Allocate* const allocate = (Allocate*)dlsym(other, "allocate_in_plugin");
  REQUIRE(allocate != NULL);
  const unsigned long before = probe_allocations();
  allocate();
  REQUIRE(probe_allocations() == before);
  REQUIRE(dlclose(other) == 0);
}

/* What a failing call tells. */
static int fail_to_open(char* text, size_t room) {
  errno = 0;
  REQUIRE(open_here("no_such_plugin.so") == NULL);
  const int error = errno;
  const char* const told = dlerror();
  REQUIRE(told != NULL);
  snprintf(text, room, "%s", told);
  REQUIRE(dlerror() == NULL);
  return error;
}

/* A library whose constructor has thrown stays open: so each is opened once. */
static void check_exception(const char* catching, const char* throwing) {
  typedef int OpenAndCatch(const char*, const volatile int*);
  const int numbers[] = {1, 2, 3, 4};
  OpenAndCatch* const open_and_catch =
      (OpenAndCatch*)dlsym(open_here(catching), "open_and_catch");
  REQUIRE(open_and_catch != NULL);
  REQUIRE(open_and_catch(beside(throwing), numbers) == 4321 + 42);
  check_opened();
}

/* What cannot be returned through is told, and hooked later. */
static void check_without_tables(void) {
  void* (*const open_from_plugin)(const char*) = (void* (*)(const char*))dlsym(
      open_here("plt_tableless_plugin.so"), "open_from_plugin");
  REQUIRE(open_from_plugin != NULL);
  REQUIRE(strcmp(probe_warning(), "") == 0);
  opener = NULL;
  REQUIRE(open_from_plugin(beside("plt_offering_plugin.so")) != NULL);
  REQUIRE(strstr(probe_warning(), "without unwind tables") != NULL);
  REQUIRE(dlsym(RTLD_DEFAULT, "no such symbol") == NULL);
  require_one_event(offered);
}

int main(int count, char** arguments) {
  char unhooked[4096];
  char hooked[4096];
  REQUIRE(count == 2);
  directory = arguments[1];
  const int error = fail_to_open(unhooked, sizeof unhooked);
  REQUIRE(probe_install(NULL, NULL) == NULL);
  REQUIRE(fail_to_open(hooked, sizeof hooked) == error);
  REQUIRE(strcmp(unhooked, hooked) == 0);
  check_opened();
  check_nested();
  check_namespaces();
  check_exception("plt_catching_plugin_O0.so", "plt_throwing_plugin_O0.so");
  check_exception("plt_catching_plugin_O2.so", "plt_throwing_plugin_O2.so");
  check_without_tables();
  REQUIRE(stacks >= 5);
  probe_uninstall();
  REQUIRE(probe_hooked_slots() == 0);
  _Exit(0);
}
