/* PltHook behind a C interface, in a library of its own: programs that are to be hooked are
   compiled in a moment, with any options. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Hooks modules that match `pattern` (all: NULL), without those that match `left_out` (NULL: none).
   Returns NULL, or what is wrong. The library itself is left alone. */
const char* probe_install(const char* pattern, const char* left_out);
void probe_uninstall(void);
void probe_refresh(void);

/* Events so far, of all threads. */
unsigned long probe_allocations(void);
unsigned long probe_frees(void);
unsigned long probe_reallocations(void);
unsigned long probe_unloadings(void);

/* Times that a module was left for later, because the lock was not to be had. */
unsigned long probe_put_off(void);

/* Slots that lead to the hook now, and the first warning, or "". */
unsigned probe_hooked_slots(void);
const char* probe_warning(void);

/* Events allocate, free, print, walk modules and stacks. */
void probe_make_noise(int on);

/* The return addresses of the callers, as the tracker finds them; 0 where it does not find them all. */
size_t probe_stack(uintptr_t* frames, size_t room);

/* /proc/self/maps, without what grows: heap, stack, anonymous memory. Not freed. */
char* probe_maps(void);

#ifdef __cplusplus
}
#endif

/* Ends the program with a sentence unless `condition` holds. */
#define REQUIRE(condition)                                                              \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      fprintf(stderr, "%s:%d: not true: %s (%lu allocations, %lu frees)\n", __FILE__,   \
              __LINE__, #condition, probe_allocations(), probe_frees());                \
      exit(1);                                                                          \
    }                                                                                   \
  } while (0)
