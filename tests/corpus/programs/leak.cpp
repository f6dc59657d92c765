#include <memory>
#include <utility>

#include "allocation_ways.hpp"
#include "families.hpp"
#include "threads.hpp"

namespace corpus {
namespace {

/// All of these return with the pointers gone, and scrub_stack() removes what is left of them.
[[gnu::noinline]] void make_and_forget(const Way& way) { write_byte(way.make(), 0); }

[[gnu::noinline]] void make_and_release(const Way& way) { way.drop(way.make()); }

struct Node {
  Node* next = nullptr;
  Node* other = nullptr;
  char payload[48] = {};
};

Node* make_list(int length) {
  Node* first = nullptr;
  for (int i = 0; i < length; ++i) {
    first = hidden(new Node{.next = first});
  }
  return first;
}

void delete_list(Node* first) {
  while (first != nullptr) {
    delete hidden(std::exchange(first, first->next));
  }
}

[[gnu::noinline]] void forget_list() { use(make_list(10)); }

[[gnu::noinline]] void forget_ring() {
  Node* const first = make_list(10);
  Node* last = first;
  while (last->next != nullptr) {
    last = last->next;
  }
  last->next = first;
}

Node* make_tree(int depth) {
  return depth == 0 ? nullptr
                    : hidden(new Node{.next = make_tree(depth - 1), .other = make_tree(depth - 1)});
}

[[gnu::noinline]] void forget_tree() { use(make_tree(4)); }

[[gnu::noinline]] void forget_blocks_in_array() {
  char** const array = hidden(new char*[10]);
  for (int i = 0; i < 10; ++i) {
    array[i] = portable_ways().front().make();
  }
  use(array);
}

struct Shared {
  std::shared_ptr<Shared> other;
};

void share(bool is_ring) {
  const auto first = std::make_shared<Shared>();
  first->other = std::make_shared<Shared>();
  if (is_ring) {
    first->other->other = first;
  }
}

[[gnu::noinline]] void share_in_ring() { share(true); }

[[gnu::noinline]] void overwrite_pointer() {
  char* block = portable_ways().front().make();
  use(block);
  block = portable_ways().front().make();
  portable_ways().front().drop(block);
}

[[gnu::noinline]] void lose_by_exception() {
  try {
    write_byte(portable_ways().front().make(), 0);
    throw 1;
  } catch (int) {
  }
}

thread_local char* held_by_thread = nullptr;

/// Run on another thread: what holds it goes with the thread.
[[gnu::noinline]] void hold_in_thread_local() {
  held_by_thread = portable_ways().front().make();
  use(&held_by_thread);
}

struct Variant {
  const char* what;
  const char* name;
  Misuse misuse;
  void (*run)();
};

constexpr Variant kVariants[] = {
    {"indirect", "list", kLeaked, forget_list},
    {"indirect", "ring", kLeaked, forget_ring},
    {"indirect", "tree", kLeaked, forget_tree},
    {"indirect", "blocks_in_array", kLeaked, forget_blocks_in_array},
    {"indirect", "shared_ptr_ring", kLeaked, share_in_ring},
    {"malloc", "overwritten_pointer", kLeaked, overwrite_pointer},
    {"malloc", "exception", kLeaked, lose_by_exception},
    {"indirect", "good_list_deleted", kGood, [] { delete_list(make_list(10)); }},
    {"indirect", "good_shared_ptr", kGood, [] { share(false); }},
};

}  // namespace

void add_leak(Cases& cases) {
  for (const Thread thread : kBothThreads) {
    const auto add = [&](const char* what, const char* variant, Misuse misuse, const auto& body) {
      cases.add({"leak", what, variant, name_of(thread)}, misuse, [&](auto&) {
        run_on(thread, body);
        scrub_stack();
      });
    };
    for_each_way([&](const Way& way) {
      add(way.name, "forgotten", kLeaked, [&] { make_and_forget(way); });
      add(way.name, "good_released", kGood, [&] { make_and_release(way); });
    });
    for (const Variant& variant : kVariants) {
      add(variant.what, variant.name, variant.misuse, variant.run);
    }
  }
  cases.add({"leak", "malloc", "thread_local_of_ended_thread"}, kLeaked,
            [](auto&) { run_on(Thread::kOther, hold_in_thread_local); });
}

}  // namespace corpus
