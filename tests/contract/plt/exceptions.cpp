// Two libraries: one whose constructor throws, and one that opens it and catches. For glibc's
// header dlopen never throws, so the compiler would end the program.
extern "C" void* dlopen(const char* path, int flags);

#ifdef THROWS
namespace {
struct Thrower {
  Thrower() { throw 42; }
};
const Thrower thrower;
}  // namespace
#else
// dlopen cannot return through a function that catches: this is the only other one. Optimized, it
// has no frame where the call pushes the return address, and the least one elsewhere.
#if defined(__x86_64__)
extern "C" int two_more(int number) { return number + 2; }
#else
extern "C" int two_more(int (*function)()) { return function() + 2; }
#endif

// `numbers` are in registers that dlopen and what it calls must give back.
extern "C" int open_and_catch(const char* path, const volatile int* numbers) {
  constexpr int kLazy = 1;
  const int a = numbers[0];
  const int b = numbers[1];
  const int c = numbers[2];
  const int d = numbers[3];
  int caught = 0;
  try {
    caught = dlopen(path, kLazy) == nullptr ? -1 : -2;
  } catch (int thrown) {
    caught = thrown;
  }
  return caught + a + 10 * b + 100 * c + 1000 * d;
}
#endif
