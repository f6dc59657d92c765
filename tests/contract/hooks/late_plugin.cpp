// A library that is opened late, with a block for each thread that the loader allocates when the
// thread first touches it.
#include <cstdlib>

namespace {

constexpr std::size_t kBytes = 20'000;
thread_local char of_thread[kBytes];
void* volatile keep = nullptr;

void (*at_end)() = nullptr;

}  // namespace

/// Called by the loader itself: what calls destructors of objects has no unwind tables.
__attribute__((destructor)) static void end() {
  if (at_end != nullptr) at_end();
}

#define ALLOCTAP_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

/// How often this thread has called it.
ALLOCTAP_PLUGIN_EXPORT int touch_thread_local() { return ++of_thread[0]; }

ALLOCTAP_PLUGIN_EXPORT void call_at_end(void (*function)()) { at_end = function; }

ALLOCTAP_PLUGIN_EXPORT void allocate_in_plugin() {
  keep = std::malloc(33);
  std::free(keep);
}
