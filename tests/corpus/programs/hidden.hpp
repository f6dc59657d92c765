#pragma once

#include <cstddef>

namespace corpus {

/// The same value, of which the compiler knows nothing: it can neither prove a misuse and warn of
/// it, nor leave out an access or an allocation.
template <typename T>
[[nodiscard]] T hidden(T value) {
  asm volatile("" : "+r"(value) : : "memory");
  return value;
}

/// For values that must be computed and are not looked at.
template <typename T>
void use(T value) {
  asm volatile("" : : "r"(value) : "memory");
}

[[gnu::noinline]] inline void write_byte(char* block, std::ptrdiff_t offset) {
  *static_cast<volatile char*>(hidden(block) + hidden(offset)) = 'w';
}

[[gnu::noinline]] inline void read_byte(const char* block, std::ptrdiff_t offset) {
  use(*static_cast<const volatile char*>(hidden(block) + hidden(offset)));
}

/// Overwrites what calls that have returned left behind in the stack below.
[[gnu::noinline]] inline void scrub_stack() {
  volatile char area[16 * 1024];
  for (volatile char& byte : area) {
    byte = 0;
  }
}

}  // namespace corpus
