// usage: removes_itself
// Removes its own file and allocates. Exit code: 0, or 1 where it cannot.
#include <stdlib.h>
#include <unistd.h>

void *volatile block;

__attribute__((noinline)) static void allocate(void) { block = malloc(12345); }

int main(int argc, char **argv) {
  if (argc != 1 || unlink(argv[0]) != 0) return 1;
  allocate();
  return 0;
}
