/* Backend cases 5 (dlopen after install), 7 (the caller's identity), 6 in its single-threaded
   part (a module that was unmapped behind the loader's back). Plug-ins stand beside the program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "slot_probe.h"

typedef void Allocate(void);

static void* open_beside(const char* directory, const char* name, int flags) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  void* const handle = dlopen(path, flags);
  if (handle == NULL) fprintf(stderr, "%s\n", dlerror());
  return handle;
}

/* How many events two calls into the plug-in make. */
static unsigned long count_calls(void* handle) {
  Allocate* const allocate = (Allocate*)dlsym(handle, "allocate_in_plugin");
  REQUIRE(allocate != NULL);
  const unsigned long before = probe_allocations();
  allocate();
  allocate();
  return probe_allocations() - before;
}

static void check_flags(const char* directory) {
  const int flags[] = {RTLD_NOW, RTLD_LAZY, RTLD_NOW | RTLD_DEEPBIND, RTLD_LAZY | RTLD_GLOBAL};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
    void* const handle = open_beside(directory, "plt_plugin.so", flags[i]);
    REQUIRE(handle != NULL);
    REQUIRE(count_calls(handle) == 2);
    const unsigned long unloadings = probe_unloadings();
    REQUIRE(dlclose(handle) == 0);
    REQUIRE(probe_unloadings() == unloadings + 1);
  }
}

/* A constructor opens another one. */
static void check_nested(const char* directory) {
  void* const outer = open_beside(directory, "plt_outer_plugin.so", RTLD_NOW);
  REQUIRE(outer != NULL);
  REQUIRE(count_calls(outer) == 2);
  void* const inner = open_beside(directory, "inner/plt_inner_plugin.so", RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(inner != NULL);
  REQUIRE(count_calls(inner) == 2);
}

/* Only the plug-in's RUNPATH leads to the directory. */
static void check_caller(const char* directory) {
  void* const outer = open_beside(directory, "plt_outer_plugin.so", RTLD_NOW);
  void* (*const open_from_plugin)(const char*) =
      (void* (*)(const char*))dlsym(outer, "open_from_plugin");
  REQUIRE(dlopen("plt_second_inner_plugin.so", RTLD_NOW) == NULL);
  const char* const error = dlerror();
  REQUIRE(error != NULL && strstr(error, "plt_second_inner_plugin.so") != NULL);
  REQUIRE(dlerror() == NULL);
  void* const found = open_from_plugin("plt_second_inner_plugin.so");
  REQUIRE(found != NULL);
  REQUIRE(count_calls(found) == 2);
  /* What asks for the next definition is told apart by its address as well. */
  REQUIRE(dlsym(RTLD_NEXT, "main") == NULL);
  REQUIRE(dlerror() != NULL);
}

static int unmap_module(struct dl_phdr_info* info, size_t size, void* bias) {
  (void)size;
  if (info->dlpi_addr != (uintptr_t)bias) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) == 0) continue;
    const uintptr_t start = (info->dlpi_addr + segment->p_vaddr) & ~(uintptr_t)4095;
    munmap((void*)start, (segment->p_memsz + 4095) & ~(size_t)4095);
    return 1;
  }
  return 1;
}

static void check_unmapped(const char* directory) {
  void* const handle = open_beside(directory, "plt_plugin.so", RTLD_NOW);
  REQUIRE(handle != NULL);
  REQUIRE(count_calls(handle) == 2);
  struct link_map* map = NULL;
  REQUIRE(dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
  dl_iterate_phdr(unmap_module, (void*)map->l_addr);
  probe_refresh();
  REQUIRE(probe_hooked_slots() > 0);
}

int main(int count, char** arguments) {
  REQUIRE(count == 2);
  REQUIRE(probe_install(NULL, NULL) == NULL);
  check_flags(arguments[1]);
  check_nested(arguments[1]);
  check_caller(arguments[1]);
  REQUIRE(strcmp(probe_warning(), "") == 0);
  check_unmapped(arguments[1]);
  probe_uninstall();
  REQUIRE(probe_hooked_slots() == 0);
  _Exit(0);
}
