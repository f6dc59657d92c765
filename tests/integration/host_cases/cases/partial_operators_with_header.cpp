// A program replaces only operator new(size_t) and operator delete(void*), each block has a header.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>
static int news, deletes;
void* operator new(std::size_t n) {
  ++news;
  char* p = static_cast<char*>(std::malloc(n + 16));
  if (!p) throw std::bad_alloc();
  *reinterpret_cast<std::size_t*>(p) = 0x5ca1ab1e;
  return p + 16;
}
void operator delete(void* p) noexcept {
  if (!p) return;
  ++deletes;
  char* q = static_cast<char*>(p) - 16;
  if (*reinterpret_cast<std::size_t*>(q) != 0x5ca1ab1e) {
    std::puts("FOREIGN BLOCK");
    std::abort();
  }
  std::free(q);
}
struct S {
  int a[10];
};
struct alignas(64) A {
  char c[64];
};
int main() {
  S* s = new S;
  delete s;  // sized delete (C++14)
  S* t = new S[3];
  delete[] t;  // new[] -> replaced new
  int* u = new (std::nothrow) int;
  delete u;  // nothrow -> replaced new
  int* v = new (std::nothrow) int[4];
  delete[] v;
  A* a = new A;
  delete a;  // aligned: library's own
  {
    std::string x(100, 'x');
    std::vector<int> y(100);
  }
  std::printf("news %d deletes %d\n", news, deletes);
}
