#include "allocation_ways.hpp"
#include "families.hpp"
#include "threads.hpp"

namespace corpus {
namespace {

char* make() { return portable_ways().front().make(); }

struct Node {
  Node* volatile next = nullptr;
};

char* volatile by_global = nullptr;
thread_local char* volatile by_thread_local = nullptr;
Node* volatile chain = nullptr;

/// Each holds a block to the end of the process, or, if it is `cleared`, does so no longer.
[[gnu::noinline]] void hold_by_global(bool cleared) {
  by_global = make();
  if (cleared) {
    by_global = nullptr;
  }
}

[[gnu::noinline]] void hold_by_static_local(bool cleared) {
  static char* volatile holder = nullptr;
  holder = make();
  if (cleared) {
    holder = nullptr;
  }
  use(&holder);
}

[[gnu::noinline]] void hold_by_thread_local(bool cleared) {
  by_thread_local = make();
  if (cleared) {
    by_thread_local = nullptr;
  }
}

/// The global leads to the last of the blocks through all others.
[[gnu::noinline]] void hold_by_chain(bool cleared) {
  for (int i = 0; i < 10; ++i) {
    Node* const node = hidden(new Node);
    node->next = chain;
    chain = node;
  }
  if (cleared) {
    chain = nullptr;
  }
}

/// As a container does that keeps a header in front of what it gives out.
[[gnu::noinline]] void hold_by_interior_pointer(bool cleared) {
  by_global = make() + 24;
  if (cleared) {
    by_global = nullptr;
  }
}

/// Its lowest bit says something else.
[[gnu::noinline]] void hold_by_tagged_pointer(bool cleared) {
  by_global = make() + 1;
  if (cleared) {
    by_global = nullptr;
  }
}

/// With what `make_holder` gives it in its frame.
template <typename Maker>
void hold_in_living_thread(const Maker& make_holder) {
  start_living_thread([make_holder](Signal& is_ready) {
    char* volatile holder = make_holder();
    use(&holder);
    scrub_stack();
    is_ready.send();
    sleep_for_ever();
  });
}

void hold_by_other_thread_local(bool cleared) {
  hold_in_living_thread([cleared]() -> char* {
    hold_by_thread_local(cleared);
    return nullptr;
  });
}

[[gnu::noinline]] char* make_unless_cleared(bool cleared) {
  char* const block = make();
  return cleared ? nullptr : block;
}

void hold_by_other_stack(bool cleared) {
  hold_in_living_thread([cleared] { return make_unless_cleared(cleared); });
}

struct Holder {
  const char* name;
  void (*hold)(bool cleared);
};

constexpr Holder kHolders[] = {
    {"global", hold_by_global},
    {"static_local", hold_by_static_local},
    {"chain_from_global", hold_by_chain},
    {"interior_pointer", hold_by_interior_pointer},
    {"tagged_pointer", hold_by_tagged_pointer},
    {"thread_local", hold_by_thread_local},
    {"thread_local_of_other_thread", hold_by_other_thread_local},
    {"stack_of_other_thread", hold_by_other_stack},
};

}  // namespace

void add_held(Cases& cases) {
  for (const Holder& holder : kHolders) {
    for (const bool cleared : {false, true}) {
      cases.add({"held", holder.name, cleared ? "cleared" : "good"}, cleared ? kLeaked : kHeld,
                [&](auto&) {
                  holder.hold(cleared);
                  scrub_stack();
                });
    }
  }
  for (const bool cleared : {false, true}) {
    cases.add({"held", "stack", cleared ? "cleared" : "good"}, cleared ? kLeaked : kHeld,
              [&](const Cases& all) {
                char* volatile holder = make_unless_cleared(cleared);
                scrub_stack();
                all.end_here();
                std::free(holder);
              });
  }
}

}  // namespace corpus
