#include <pthread.h>

#include "../allocation_ways.hpp"
#include "../threads.hpp"
#include "families.hpp"

namespace corpus {
namespace {

constexpr Misuse kFreedTwice{Kind::kDoubleFree, kCalls};

char* make() { return portable_ways().front().make(); }

void free_value(void* value) { std::free(hidden(value)); }
void free_value_twice(void* value) {
  std::free(hidden(value));
  std::free(hidden(value));
}

/// A thread ends whose value the key's destructor, if it has one, gets.
[[gnu::noinline]] void end_with_value(void (*destructor)(void*)) {
  pthread_key_t key{};
  pthread_key_create(&key, destructor);
  run_on(Thread::kOther, [&] { pthread_setspecific(key, make()); });
  pthread_key_delete(key);
}

}  // namespace

void add_thread_keys(Cases& cases) {
  cases.add({"freed_late", "thread_key_destructor", "good_once"}, kGood,
            [](auto&) { end_with_value(free_value); });
  cases.add({"freed_late", "thread_key_destructor", "twice"}, kFreedTwice,
            [](auto&) { end_with_value(free_value_twice); });
  cases.add({"leak", "malloc", "value_of_thread_key"}, kLeaked, [](auto&) {
    end_with_value(nullptr);
    scrub_stack();
  });
}

}  // namespace corpus
