// A library that does not survive its constructor, which runs before everything of the program.
#include <signal.h>
#include <stdlib.h>

int anything;
static void* volatile block;

__attribute__((constructor)) static void die(void) {
  for (int i = 0; i < 1000; ++i) block = malloc(24);
  raise(SIGTERM);
}
