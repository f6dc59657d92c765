#include "allocation_ways.hpp"
#include "families.hpp"
#include "threads.hpp"

namespace corpus {
namespace {

constexpr Misuse kMisuse{Kind::kDoubleFree, kCalls};

void free_twice(const Way& way, Thread thread, int others_between) {
  char* const block = way.make();
  way.drop(block);
  allocate_others(others_between);
  run_on(thread, [&] { way.drop(block); });
}

/// Two threads of which each believes that the block is its own.
void free_in_two_threads(const Way& way) {
  char* const block = way.make();
  for (int i = 0; i < 2; ++i) {
    run_on(Thread::kOther, [&] { way.drop(block); });
  }
}

/// Whoever holds `block` now, the address is one that was released before.
void free_and_allocate_again(const Way& way, Thread thread) {
  for (int i = 0; i < 3; ++i) {
    char* const block = way.make();
    write_byte(block, 0);
    run_on(thread, [&] { way.drop(block); });
  }
}

}  // namespace

void add_double_free(Cases& cases) {
  for_each_way([&](const Way& way) {
    for (const Thread thread : kBothThreads) {
      const auto add = [&](const char* variant, Misuse misuse, const auto& body) {
        cases.add({"double_free", way.name, variant, name_of(thread)}, misuse, body);
      };
      add("at_once", kMisuse, [&](auto&) { free_twice(way, thread, 0); });
      if (way.is_common) {
        add("after_50_others", kMisuse, [&](auto&) { free_twice(way, thread, 50); });
      }
      add("good_address_used_again", kGood, [&](auto&) { free_and_allocate_again(way, thread); });
    }
    if (way.is_common) {
      cases.add({"double_free", way.name, "two_threads"}, kMisuse,
                [&](auto&) { free_in_two_threads(way); });
    }
  });
}

}  // namespace corpus
