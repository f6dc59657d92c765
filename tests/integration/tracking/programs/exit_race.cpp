// Eight threads end the process at the same time, and each lets the others pass wherever somebody
// registers a handler then.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> ends{false};

}  // namespace

/// In front of the C library's, for whoever calls it.
extern "C" __attribute__((visibility("default"))) int on_exit(void (*function)(int, void*),
                                                              void* argument) noexcept {
  using OnExit = int(void (*)(int, void*), void*);
  if (ends) ::usleep(20000);
  return reinterpret_cast<OnExit*>(::dlsym(RTLD_NEXT, "on_exit"))(function, argument);
}

int main() {
  ends = true;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([] { std::exit(7); });
  for (std::thread& thread : threads) thread.join();
}
