#include <new>

#include "allocation_ways.hpp"
#include "families.hpp"
#include "threads.hpp"

namespace corpus {
namespace {

constexpr Misuse kMisuse{Kind::kMismatchedRelease, kCalls};

enum class Maker { kMalloc, kNew, kNewArray };

struct Release {
  const char* name;
  Maker fits;
  void (*release)(char* block);
};

void resize(char* block) { std::free(hidden(std::realloc(block, hidden(std::size_t{200})))); }

constexpr Release kReleases[] = {
    {"free", Maker::kMalloc, [](char* block) { std::free(block); }},
    {"realloc", Maker::kMalloc, resize},
    {"delete", Maker::kNew, [](char* block) { ::operator delete(block); }},
    {"delete_nothrow", Maker::kNew, [](char* block) { ::operator delete(block, std::nothrow); }},
    {"delete_array", Maker::kNewArray, [](char* block) { ::operator delete[](block); }},
};

/// Blocks of other functions, _aligned_malloc's for one, have releases of their own.
bool maker_of(std::string_view way, Maker& maker) {
  for (const std::string_view name : {"malloc", "calloc", "realloc_null", "aligned_alloc",
                                      "posix_memalign", "memalign", "strdup", "strndup"}) {
    if (way == name) {
      maker = Maker::kMalloc;
      return true;
    }
  }
  maker = way == "new_array" ? Maker::kNewArray : Maker::kNew;
  return way == "new" || way == "new_nothrow" || way == "new_array";
}

void release_by(const Way& way, const Release& release, Thread thread) {
  char* const block = way.make();
  run_on(thread, [&] { release.release(hidden(block)); });
}

/// What the C library's functions refuse to be: released by free, from an aligned operator new.
void free_aligned(Thread thread) {
  char* const block =
      hidden(static_cast<char*>(::operator new(hidden(std::size_t{64}), std::align_val_t{64})));
  run_on(thread, [&] { std::free(hidden(block)); });
}

}  // namespace

void add_mismatched_release(Cases& cases) {
  for_each_way([&](const Way& way) {
    Maker maker{};
    if (!maker_of(way.name, maker)) {
      return;
    }
    for (const Release& release : kReleases) {
      const bool is_good = release.fits == maker;
      for (const Thread thread : kBothThreads) {
        if (thread == Thread::kMain || way.is_common) {
          cases.add({"mismatched_release", way.name, is_good ? "good" : "bad", release.name,
                     name_of(thread)},
                    is_good ? kGood : kMisuse, [&](auto&) { release_by(way, release, thread); });
        }
      }
    }
  });
  for (const Thread thread : kBothThreads) {
    cases.add({"mismatched_release", "new_aligned", "bad", "free", name_of(thread)}, kMisuse,
              [&](auto&) { free_aligned(thread); });
  }
}

}  // namespace corpus
