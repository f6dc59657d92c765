#include "allocation_ways.hpp"
#include "families.hpp"
#include "threads.hpp"

namespace corpus {
namespace {

struct Access {
  const char* family;
  Misuse misuse;
  void (*run)(char* block, std::ptrdiff_t offset);
};

constexpr Access kAccesses[] = {
    {"write_after_free", {Kind::kWriteAfterFree, kFreedFill | kFreedPage}, write_byte},
    {"read_after_free",
     {Kind::kReadAfterFree, kFreedPage},
     [](char* block, std::ptrdiff_t offset) { read_byte(block, offset); }},
};

struct Offset {
  const char* name;
  std::ptrdiff_t (*of)(std::size_t size);
};
constexpr Offset kOffsets[] = {
    {"first_byte", [](std::size_t) -> std::ptrdiff_t { return 0; }},
    {"middle", [](std::size_t size) { return static_cast<std::ptrdiff_t>(size / 2); }},
    {"last_byte", [](std::size_t size) { return static_cast<std::ptrdiff_t>(size - 1); }},
};

void access_freed(const Access& access, const Way& way, const Offset& offset, Thread thread) {
  char* const block = way.make();
  way.drop(block);
  run_on(thread, [&] { access.run(block, offset.of(way.size)); });
}

/// The block was freed by the other thread, or is used by it.
void access_after_others(const Access& access, const Way& way, Thread thread) {
  char* const block = way.make();
  run_on(thread, [&] { way.drop(block); });
  allocate_others(50);
  access.run(block, 0);
}

void access_last_then_free(const Access& access, const Way& way, Thread thread) {
  char* const block = way.make();
  write_byte(block, 0);
  run_on(thread, [&] { access.run(block, 0); });
  way.drop(block);
}

/// Through the pointer from before a reallocation that moved the block, or through the new one.
void access_reallocated(const Access& access, bool is_good, Thread thread) {
  char* const block = portable_ways().front().make();
  write_byte(block, 0);
  Neighbours neighbours;
  char* const moved =
      static_cast<char*>(hidden(std::realloc(hidden(block), hidden(std::size_t{300'000}))));
  require(hidden(moved) != hidden(block), "a block that grows to 300 kB moves");
  run_on(thread, [&] { access.run(is_good ? moved : block, 0); });
  std::free(hidden(moved));
}

void add_ways(Cases& cases, const Access& access, const Way& way, Thread thread) {
  const auto add = [&](const char* variant, Misuse misuse, const auto& body) {
    cases.add({access.family, way.name, variant, name_of(thread)}, misuse, body);
  };
  for (const Offset& offset : kOffsets) {
    add(offset.name, access.misuse, [&](auto&) { access_freed(access, way, offset, thread); });
  }
  if (way.is_common) {
    add("after_50_others", access.misuse, [&](auto&) { access_after_others(access, way, thread); });
  }
  add("good_before_free", kGood, [&](auto&) { access_last_then_free(access, way, thread); });
}

}  // namespace

void add_after_free(Cases& cases) {
  for (const Access& access : kAccesses) {
    for_each_way([&](const Way& way) {
      for (const Thread thread : kBothThreads) {
        if (thread == Thread::kMain || way.is_common) {
          add_ways(cases, access, way, thread);
        }
      }
    });
    for (const Thread thread : kBothThreads) {
      cases.add({access.family, "realloc", "old_pointer", name_of(thread)}, access.misuse,
                [&](auto&) { access_reallocated(access, false, thread); });
      cases.add({access.family, "realloc", "good_new_pointer", name_of(thread)}, kGood,
                [&](auto&) { access_reallocated(access, true, thread); });
    }
  }
}

}  // namespace corpus
