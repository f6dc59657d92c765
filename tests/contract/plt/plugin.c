/* A library that is opened late. */
#include <dlfcn.h>
#include <stdlib.h>

static void* volatile keep;

__attribute__((constructor)) static void when_loaded(void) {
  keep = malloc(11);
  free(keep);
#ifdef NESTED
  dlopen(NESTED, RTLD_NOW);
#endif
}

__attribute__((visibility("default"))) void allocate_in_plugin(void) {
  keep = malloc(33);
  free(keep);
}

/* As this library finds it: by its own RUNPATH. */
__attribute__((visibility("default"))) void* open_from_plugin(const char* name) {
  return dlopen(name, RTLD_NOW);
}
