// usage: misuses NAME
// Misuses memory as NAME says, prints "done" and ends with 3.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <thread>

namespace {

template <class Pointer>
Pointer hidden(Pointer pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

__attribute__((noinline)) char* get_block(std::size_t size) {
  char* const block = hidden(static_cast<char*>(std::malloc(size)));
  std::memset(block, 1, size);
  return block;
}

__attribute__((noinline)) void give_back(void* block) {
  std::free(hidden(block));
  __asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) std::size_t length_of(const char* text) {
  const std::size_t length = std::strlen(hidden(text));
  __asm__ volatile("" : : "r"(length) : "memory");
  return length;
}

void misuse(std::string_view name) {
  char* const block = get_block(24);
  if (name == "string_read_behind") length_of(block);
  if (name == "double_free") {
    give_back(block);
    return give_back(block);
  }
  if (name == "write_behind") hidden(block)[24] = 7;
  if (name == "write_before") hidden(block)[-1] = 7;
  if (name == "mismatched_release") return ::operator delete(hidden(static_cast<void*>(block)));
  if (name == "interior_pointer") give_back(block + 16);
  if (name == "unknown_pointer") give_back(const_cast<char*>("of no heap"));
  if (name == "write_behind_and_kept") {
    hidden(block)[24] = 7;
    return;
  }
  give_back(block);
  if (name == "write_after_free") hidden(block)[4] = 7;
  if (name == "many_times") {
    for (int i = 0; i < 10; ++i) {
      char* const other = get_block(24);
      hidden(other)[24] = 7;
      give_back(other);
    }
  }
}

}  // namespace

int main(int, char** arguments) {
  const std::string_view name = arguments[1];
  std::thread([&] { misuse(name); }).join();
  std::puts("done");
  return 3;
}
