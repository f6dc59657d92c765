#include "allocation_ways.hpp"
#include "families.hpp"
#include "threads.hpp"

namespace corpus {
namespace {

constexpr Misuse kFreedTwice{Kind::kDoubleFree, kCalls};

char* make() { return portable_ways().front().make(); }

char* kept = nullptr;

void free_kept() { std::free(hidden(kept)); }

void free_at_exit(bool twice) {
  kept = make();
  std::atexit(free_kept);
  if (twice) {
    std::free(hidden(kept));
  }
}

struct Owner {
  char* block = nullptr;
  int releases = 1;

  ~Owner() {
    for (int i = 0; i < releases; ++i) {
      std::free(hidden(block));
    }
  }
};

void free_by_static_destructor(bool twice) {
  static Owner owner;
  owner.block = make();
  owner.releases = twice ? 2 : 1;
}

void free_by_thread_local_destructor(bool twice) {
  run_on(Thread::kOther, [twice] {
    static thread_local Owner owner;
    owner.block = make();
    owner.releases = twice ? 2 : 1;
  });
}

/// The thread that made the block is gone when it is freed.
void free_after_thread_ended(bool twice) {
  char* block = nullptr;
  run_on(Thread::kOther, [&block] { block = make(); });
  for (int i = 0; i < (twice ? 2 : 1); ++i) {
    std::free(hidden(block));
  }
}

struct Moment {
  const char* name;
  void (*run)(bool twice);
};

constexpr Moment kMoments[] = {
    {"atexit", free_at_exit},
    {"static_destructor", free_by_static_destructor},
    {"thread_local_destructor", free_by_thread_local_destructor},
    {"after_thread_ended", free_after_thread_ended},
};

}  // namespace

void add_freed_late(Cases& cases) {
  for (const Moment& moment : kMoments) {
    for (const bool twice : {false, true}) {
      cases.add({"freed_late", moment.name, twice ? "twice" : "good_once"},
                twice ? kFreedTwice : kGood, [&](auto&) { moment.run(twice); });
    }
  }
}

}  // namespace corpus
