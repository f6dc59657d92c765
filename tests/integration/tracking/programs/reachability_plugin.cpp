// Keeps blocks in variables that the loader makes when this is loaded late.
#include <cstdlib>

namespace {

void* variable;
thread_local void* thread_variable[64];

}  // namespace

extern "C" {
[[gnu::noinline]] void keep_in_plugin_variable() {
  variable = std::malloc(64);
  asm volatile("" : : "r"(&variable) : "memory");
}
[[gnu::noinline]] void keep_in_plugin_thread_variable() {
  thread_variable[7] = std::malloc(64);
  asm volatile("" : : "r"(&thread_variable) : "memory");
}
}
