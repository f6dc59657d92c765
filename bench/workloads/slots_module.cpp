// A module with slots for the allocation functions, copied as often as plt_bench needs modules.
#include <cstdlib>
#include <cstring>
#include <new>

namespace {
void* volatile keep;
}

extern "C" __attribute__((visibility("default"))) void use_slots() {
  keep = std::malloc(10);
  keep = std::realloc(keep, 20);
  std::free(keep);
  keep = std::calloc(1, 10);
  std::free(keep);
  keep = strdup("text");
  std::free(keep);
  keep = ::operator new(10);
  ::operator delete(keep);
}
