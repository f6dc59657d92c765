// Holds blocks at every place that a program can hold them at, and loses others. Each kind is
// allocated by a function of its own, by whose name it is found in the report.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <semaphore>
#include <thread>

namespace {

/// Keeps the compiler from knowing what a pointer is good for.
template <class T>
T* escape(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

struct Node {
  void* first = nullptr;
  void* second = nullptr;
  char rest[48] = {};
};

[[gnu::noinline]] void* allocate(std::size_t bytes) { return escape(std::calloc(1, bytes)); }
[[gnu::noinline]] Node* make_node() { return static_cast<Node*>(allocate(sizeof(Node))); }

void* global_variable;
void* constant_pages_variable[1024] = {&global_variable};
thread_local void* thread_variable;

// Each calls `allocate` last but not as its last act, so that its frame is there.
#define ALLOCATING [[gnu::noinline]] void

ALLOCATING keep_in_global() { global_variable = allocate(64); }
ALLOCATING keep_in_static() {
  static void* variable;
  variable = allocate(64);
  escape(&variable);
}
ALLOCATING keep_in_protected_page() {
  const auto page = reinterpret_cast<std::uintptr_t>(constant_pages_variable + 512) & ~4095ul;
  *reinterpret_cast<void**>(page) = allocate(64);
  mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ);
}
ALLOCATING keep_in_thread_variable() {
  thread_variable = allocate(64);
  escape(&thread_variable);
}
ALLOCATING keep_inside() { constant_pages_variable[1] = static_cast<char*>(allocate(64)) + 63; }
ALLOCATING keep_empty() { constant_pages_variable[2] = allocate(0); }
ALLOCATING keep_chain() {
  Node* node = make_node();
  constant_pages_variable[3] = node;
  for (int i = 0; i < 5; ++i) {
    node->second = make_node();
    node = static_cast<Node*>(node->second);
  }
}
ALLOCATING keep_in_mapping() {
  void* pages = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static_cast<void**>(pages)[777] = allocate(64);
}
ALLOCATING keep_in_shared_mapping() {
  void* pages = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  static_cast<void**>(pages)[777] = allocate(64);
}
ALLOCATING keep_in_unforked_page() {
  void* pages = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static_cast<void**>(pages)[777] = allocate(64);
  madvise(pages, 1 << 16, MADV_DONTFORK);
}
ALLOCATING keep_in_wiped_page() {
  void* pages = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static_cast<void**>(pages)[777] = allocate(64);
  madvise(pages, 1 << 16, MADV_WIPEONFORK);
}
ALLOCATING keep_in_unforked_block() {
  void* block = std::aligned_alloc(4096, 1 << 16);
  constant_pages_variable[6] = escape(block);
  static_cast<void**>(block)[777] = allocate(64);
  madvise(block, 1 << 16, MADV_DONTFORK);
}
ALLOCATING keep_in_hidden_page() {
  void* pages = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static_cast<void**>(pages)[777] = allocate(64);
  mprotect(pages, 1 << 16, PROT_NONE);
}
ALLOCATING keep_in_hidden_block() {
  void* block = std::aligned_alloc(4096, 1 << 16);
  constant_pages_variable[7] = escape(block);
  static_cast<void**>(block)[777] = allocate(64);
  mprotect(block, 1 << 16, PROT_NONE);
}
ALLOCATING keep_in_key() {
  pthread_key_t key{};
  pthread_key_create(&key, nullptr);
  pthread_setspecific(key, allocate(64));
}

ALLOCATING lose_block() { escape(allocate(24)); }
ALLOCATING lose_empty() { escape(allocate(0)); }
ALLOCATING lose_behind_end() { constant_pages_variable[4] = static_cast<char*>(allocate(64)) + 64; }
ALLOCATING lose_head() { escape(make_node()); }
ALLOCATING lose_tail(void** place) { *place = allocate(40); }
ALLOCATING lose_in_freed() {
  // Of a size that nothing else is of, and not where the allocator keeps what is its own.
  void** holder = static_cast<void**>(allocate(900));
  holder[50] = allocate(64);
  std::free(escape(holder));
}
ALLOCATING lose_circle() {
  Node* first = make_node();
  Node* second = make_node();
  first->first = second;
  second->first = first;
  second->second = second;
  escape(first);
}
ALLOCATING lose_tree() {
  Node* head = make_node();
  lose_tail(&head->first);
  escape(head);
}
ALLOCATING lose_hidden() {
  constant_pages_variable[5] =
      reinterpret_cast<void*>(~reinterpret_cast<std::uintptr_t>(allocate(64)));
}

/// Leaves what `work` puts on the stack far below whatever comes later.
[[gnu::noinline]] void far_below(void (*work)()) {
  char room[128 * 1024];
  escape(room);
  work();
  escape(room);
}

void do_all() {
  for (void (*work)() : {keep_in_global,
                         keep_in_static,
                         keep_in_protected_page,
                         keep_in_thread_variable,
                         keep_inside,
                         keep_empty,
                         keep_chain,
                         keep_in_mapping,
                         keep_in_shared_mapping,
                         keep_in_unforked_page,
                         keep_in_wiped_page,
                         keep_in_unforked_block,
                         keep_in_hidden_page,
                         keep_in_hidden_block,
                         keep_in_key,
                         lose_block,
                         lose_empty,
                         lose_behind_end,
                         lose_head,
                         lose_in_freed,
                         lose_circle,
                         lose_tree,
                         lose_hidden}) {
    work();
  }
}

void keep_in_plugin(const char* path) {
  void* plugin = dlopen(path, RTLD_NOW);
  if (plugin == nullptr) std::abort();
  reinterpret_cast<void (*)()>(dlsym(plugin, "keep_in_plugin_variable"))();
  reinterpret_cast<void (*)()>(dlsym(plugin, "keep_in_plugin_thread_variable"))();
}

ALLOCATING keep_on_stack(std::binary_semaphore& ready) {
  void* volatile held = allocate(64);
  ready.release();
  for (;;) pause();
  escape(held);
}

#if defined(__x86_64__)
/// In no memory: `register_value` is hidden until it is in a register that calls preserve.
ALLOCATING keep_in_register(std::binary_semaphore& ready, bool runs) {
  std::uintptr_t hidden = ~reinterpret_cast<std::uintptr_t>(allocate(64));
  far_below([] {});
  ready.release();
  if (runs) {
    asm volatile("not %0\n0: pause\n jmp 0b" : "+r"(hidden));
  } else {
    // pause(), for ever.
    asm volatile(
        "mov %0, %%rbx\n not %%rbx\n"
        "0: mov $34, %%eax\n syscall\n jmp 0b"
        :
        : "r"(hidden)
        : "rax", "rbx", "rcx", "r11", "memory");
  }
}
ALLOCATING keep_in_busy_register(std::binary_semaphore& ready) { keep_in_register(ready, true); }
ALLOCATING keep_in_waiting_register(std::binary_semaphore& ready) {
  keep_in_register(ready, false);
}
#endif

void keep_in_threads() {
  static std::binary_semaphore ready(0);
  const auto start = [](void (*work)(std::binary_semaphore&)) {
    std::thread([work] { work(ready); }).detach();
    ready.acquire();
  };
  start(keep_on_stack);
#if defined(__x86_64__)
  start(keep_in_busy_register);
  start(keep_in_waiting_register);
#endif
}

}  // namespace

/// With the path of a plugin.
int main(int argc, char** argv) {
  far_below(do_all);
  if (argc > 1) keep_in_plugin(argv[1]);
  keep_in_threads();
  std::exit(0);
}
