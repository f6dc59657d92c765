// usage: operators CASE: allocates with the forms of operator new, and prints what happens.
#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "busy_threads.hpp"

namespace {

using programs::keep;

constexpr std::align_val_t kAlignment{128};
const std::nothrow_t& kNothrow = std::nothrow;
volatile std::size_t huge = PTRDIFF_MAX;

__attribute__((format(printf, 1, 2))) void print(const char* format, ...) {
  char text[200];
  std::va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (::write(1, text, static_cast<std::size_t>(length)) != length) ::_exit(99);
}

void* aligned(void* block) {
  print("%d\n", static_cast<int>(reinterpret_cast<std::uintptr_t>(block) % 128));
  return block;
}

/// 1 + ... + 8 bytes.
void single_objects() {
  ::operator delete(::operator new(1));
  ::operator delete(::operator new(2, kNothrow), kNothrow);
  ::operator delete(::operator new(3), std::size_t{3});
  ::operator delete(aligned(::operator new(4, kAlignment)), kAlignment);
  ::operator delete(aligned(::operator new(5, kAlignment, kNothrow)), kAlignment, kNothrow);
  ::operator delete(aligned(::operator new(6, kAlignment)), std::size_t{6}, kAlignment);
  ::operator delete(nullptr);
  keep(::operator new(7));
  keep(::operator new(8, kAlignment));
}

void arrays() {
  ::operator delete[](::operator new[](1));
  ::operator delete[](::operator new[](2, kNothrow), kNothrow);
  ::operator delete[](::operator new[](3), std::size_t{3});
  ::operator delete[](aligned(::operator new[](4, kAlignment)), kAlignment);
  ::operator delete[](aligned(::operator new[](5, kAlignment, kNothrow)), kAlignment, kNothrow);
  ::operator delete[](aligned(::operator new[](6, kAlignment)), std::size_t{6}, kAlignment);
  ::operator delete[](nullptr);
  keep(::operator new[](7));
  keep(::operator new[](8, kAlignment));
}

template <class Allocate>
void catch_bad_alloc(Allocate&& allocate) {
  try {
    print("%p\n", allocate());
  } catch (const std::bad_alloc& error) {
    print("%s, %d uncaught\n", error.what(), std::uncaught_exceptions());
  }
  print("%d uncaught\n", std::uncaught_exceptions());
}

void failures() {
  catch_bad_alloc([] { return ::operator new(huge); });
  catch_bad_alloc([] { return ::operator new[](huge); });
  catch_bad_alloc([] { return ::operator new(huge, kAlignment); });
  catch_bad_alloc([] { return ::operator new(huge, kNothrow); });
  catch_bad_alloc([] { return ::operator new(huge, kAlignment, kNothrow); });
  // The tracker still records what comes after.
  keep(::operator new(11));
}

void new_handler() {
  std::set_new_handler([] {
    print("handler\n");
    std::set_new_handler(nullptr);
  });
  catch_bad_alloc([] { return ::operator new(huge); });
}

struct Case {
  std::string_view name;
  void (*run)();
};

constexpr Case kCases[] = {{"single-objects", single_objects},
                           {"arrays", arrays},
                           {"failures", failures},
                           {"new-handler", new_handler}};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& one : kCases) {
    if (argc > 1 && one.name == argv[1]) one.run();
  }
}
