#include <algorithm>
#include <cstring>

#include "allocation_ways.hpp"
#include "families.hpp"
#include "threads.hpp"

namespace corpus {
namespace {

char* resize(char* block, std::size_t size) {
  return static_cast<char*>(hidden(std::realloc(hidden(block), hidden(size))));
}

char* make() { return portable_ways().front().make(); }

void resize_freed() {
  char* const block = make();
  std::free(hidden(block));
  std::free(resize(block, 200));
}

/// The old block went with the reallocation.
void free_old_too() {
  char* const block = make();
  Neighbours neighbours;
  char* const moved = resize(block, 300'000);
  require(hidden(moved) != hidden(block), "a block that grows to 300 kB moves");
  std::free(moved);
  std::free(hidden(block));
}

void write_behind(std::size_t size) {
  char* const block = resize(make(), size);
  write_byte(block, static_cast<std::ptrdiff_t>(size));
  std::free(block);
}

/// The only pointer is overwritten by the null of a reallocation that fails.
[[gnu::noinline]] void lose_by_failure() {
  char* block = make();
  block = resize(block, ~std::size_t{0} / 2 - 100);
  require(block == nullptr, "what is larger than any memory is refused");
}

void from_null() { std::free(resize(nullptr, 64)); }

/// What C libraries make of it differs: a block of no bytes, or null. Both may be freed.
void to_nothing() { std::free(resize(make(), 0)); }

void keep_contents(std::size_t size) {
  char* block = make();
  std::memset(hidden(block), 'k', 64);
  block = resize(block, size);
  require(block[0] == 'k' && block[std::min<std::size_t>(size, 64) - 1] == 'k',
          "a reallocated block keeps what was in it");
  write_byte(block, static_cast<std::ptrdiff_t>(size - 1));
  std::free(block);
}

void keep_block_of_failure() {
  char* const block = make();
  require(resize(block, ~std::size_t{0} / 2 - 100) == nullptr,
          "what is larger than any memory is refused");
  write_byte(block, 63);
  std::free(block);
}

struct Variant {
  const char* name;
  Misuse misuse;
  void (*run)();
};

constexpr Variant kVariants[] = {
    {"freed_block", {Kind::kDoubleFree, kCalls}, resize_freed},
    {"old_pointer_freed", {Kind::kDoubleFree, kCalls}, free_old_too},
    {"write_after_grown",
     {Kind::kWriteAfter, kGuardBytes | kPageAfter},
     [] { write_behind(1024); }},
    {"write_after_shrunk", {Kind::kWriteAfter, kGuardBytes | kPageAfter}, [] { write_behind(32); }},
    {"lost_by_failure", kLeaked, lose_by_failure},
    {"good_from_null", kGood, from_null},
    {"good_to_nothing", kGood, to_nothing},
    {"good_grow", kGood, [] { keep_contents(10'000); }},
    {"good_shrink", kGood, [] { keep_contents(20); }},
    {"good_same_size", kGood, [] { keep_contents(64); }},
    {"good_failure_keeps_block", kGood, keep_block_of_failure},
};

}  // namespace

void add_realloc(Cases& cases) {
  for (const Variant& variant : kVariants) {
    for (const Thread thread : kBothThreads) {
      cases.add({"realloc", variant.name, name_of(thread)}, variant.misuse, [&](auto&) {
        run_on(thread, variant.run);
        scrub_stack();
      });
    }
  }
}

}  // namespace corpus
