// Expected: "ok", exit 0, a report. Functions too short to patch are left out, and the report names
// them; operators that cannot be patched take their family along.
#include <cstdio>
#include <cstdlib>
#include <new>
#if defined(__x86_64__)
__asm__(
    ".globl pvalloc\n.type pvalloc, @function\npvalloc: xor %eax, %eax\nret\n.size pvalloc, "
    ".-pvalloc\n"
    ".globl _ZdaPv\n.type _ZdaPv, @function\n_ZdaPv: jmp free@PLT\n.size _ZdaPv, .-_ZdaPv\n");
#endif
extern "C" void* pvalloc(std::size_t);
static void keep(void* block) { __asm__ volatile("" ::"r"(block) : "memory"); }
int main() {
  int* array = new int[10];
  keep(array);
  delete[] array;
  keep(pvalloc(1));
  std::puts("ok");
}
