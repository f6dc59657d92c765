// Expected: no fault, exit 0, under every option. Build: g++ -std=c++17 -O0 -g
#include <cstdlib>
#include <new>
void* operator new(std::size_t n) { return std::malloc(n); }
void operator delete(void* p) noexcept { std::free(p); }
struct Node {
  int v[4];
};
int main() {
  Node* volatile n = new Node;
  delete n;
}
