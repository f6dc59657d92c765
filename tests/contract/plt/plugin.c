/* A library that is opened late. */
#include <dlfcn.h>
#include <stdlib.h>

static void* volatile keep;

__attribute__((visibility("default"))) void allocate_in_plugin(void) {
  keep = malloc(33);
  free(keep);
}

#ifdef OFFERS
/* The program's. */
void offer(void (*allocate)(void));
#endif

__attribute__((constructor)) static void when_loaded(void) {
  keep = malloc(11);
  free(keep);
#ifdef NESTED
  keep = dlopen(NESTED, RTLD_NOW);
#endif
#ifdef OFFERS
  offer(&allocate_in_plugin);
#endif
}

/* As this library finds it: by its own RUNPATH. A call in the place of the return would have another
   caller. */
__attribute__((visibility("default"))) void* open_from_plugin(const char* name) {
  void* volatile const handle = dlopen(name, RTLD_NOW);
  return handle;
}
