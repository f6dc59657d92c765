// Expected: prints 3, exit 0. The program's operator new is not ready before its own constructors
// ran.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
struct Pool {
  char *next, *end;
  Pool() : next(static_cast<char*>(std::malloc(1 << 20))), end(next + (1 << 20)) {}
} pool;
void* operator new(std::size_t n) {
  n = (n + 15) & ~std::size_t{15};
  if (!pool.next || n > std::size_t(pool.end - pool.next)) {
    std::fputs("pool is not ready\n", stderr);
    std::abort();
  }
  char* p = pool.next;
  pool.next += n;
  return p;
}
void operator delete(void*) noexcept {}
void operator delete(void*, std::size_t) noexcept {}
int main() {
  std::string s(100, 'x');
  int* volatile p = new int(3);
  std::printf("%d\n", *p);
  delete p;
}
