#include <cstdint>

#include "allocation_ways.hpp"
#include "families.hpp"
#include "threads.hpp"

namespace corpus {
namespace {

constexpr Misuse kMisuse{Kind::kUnknownPointer, kCalls};

struct Release {
  const char* name;
  const char* way;  // what the interior pointers come from
  void (*release)(char* pointer);
};

void resize(char* pointer) { std::free(hidden(std::realloc(pointer, hidden(std::size_t{200})))); }

constexpr Release kReleases[] = {
    {"free", "malloc", [](char* pointer) { std::free(pointer); }},
    {"realloc", "malloc", resize},
    {"delete", "new", [](char* pointer) { ::operator delete(pointer); }},
    {"delete_array", "new_array", [](char* pointer) { ::operator delete[](pointer); }},
};

const Way& way_named(std::string_view name) {
  for (const Way& way : portable_ways()) {
    if (way.name == name) {
      return way;
    }
  }
  return portable_ways().front();
}

void release_inside(const Release& release, std::size_t offset, Thread thread) {
  const Way& way = way_named(release.way);
  char* const block = way.make();
  run_on(thread, [&] { release.release(hidden(block) + hidden(offset)); });
  way.drop(block);
}

alignas(16) char global_memory[64];

void release_stack(const Release& release, Thread thread) {
  alignas(16) char local[64] = {};
  run_on(thread, [&] { release.release(hidden(&local[16])); });
}

/// Pieces go back to the pool that carved them from one block.
void use_pool(const Release& release) {
  const Way& way = way_named(release.way);
  char* const block = way.make();
  for (std::size_t offset = 0; offset < way.size; ++offset) {
    write_byte(block, static_cast<std::ptrdiff_t>(offset));
  }
  way.drop(block);
}

struct Offset {
  const char* name;
  std::size_t bytes;
};
constexpr Offset kOffsets[] = {
    {"interior_1", 1}, {"interior_8", 8}, {"interior_16", 16}, {"one_past_the_end", 64}};

void add_pointers(Cases& cases, const Release& release, Thread thread) {
  const auto add = [&](const char* variant, Misuse misuse, const auto& body) {
    cases.add({"unknown_pointer", release.name, variant, name_of(thread)}, misuse, body);
  };
  for (const Offset& offset : kOffsets) {
    add(offset.name, kMisuse, [&](auto&) { release_inside(release, offset.bytes, thread); });
  }
  add("stack", kMisuse, [&](auto&) { release_stack(release, thread); });
  add("global", kMisuse,
      [&](auto&) { run_on(thread, [&] { release.release(hidden(&global_memory[16])); }); });
  add("good_null", kGood, [&](auto&) {
    run_on(thread, [&] { release.release(hidden(static_cast<char*>(nullptr))); });
  });
}

}  // namespace

void add_unknown_pointer(Cases& cases) {
  for (const Release& release : kReleases) {
    for (const Thread thread : kBothThreads) {
      add_pointers(cases, release, thread);
    }
    cases.add({"unknown_pointer", release.name, "never_mapped"}, kMisuse, [&](auto&) {
      release.release(hidden(reinterpret_cast<char*>(std::uintptr_t{0x123456789ab0})));
    });
    cases.add({"unknown_pointer", release.name, "code"}, kMisuse,
              [&](auto&) { release.release(hidden(reinterpret_cast<char*>(&use_pool))); });
    cases.add({"unknown_pointer", release.name, "good_pool"}, kGood,
              [&](auto&) { use_pool(release); });
  }
}

}  // namespace corpus
