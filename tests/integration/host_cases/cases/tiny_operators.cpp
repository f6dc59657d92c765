// With tiny_operators.s. Expected with --hook=inline: "ok", exit 0, a report: a function that is
// only a jump to one that is patched can be left alone.
#include <cstdio>
static void keep(void* p) { __asm__ volatile("" ::"r"(p) : "memory"); }
int main() {
  int* p = new int[10];
  keep(p);
  delete[] p;
  int* q = new int;
  keep(q);
  delete q;
  std::puts("ok");
}
