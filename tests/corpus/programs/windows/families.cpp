#include "../families.hpp"

#include <windows.h>

#include <cstdio>

#include "../hidden.hpp"
#include "../texts.hpp"
#include "../threads.hpp"

namespace corpus {
namespace {

constexpr std::size_t kSize = 64;

char* make(HANDLE heap) {
  return hidden(static_cast<char*>(HeapAlloc(hidden(heap), 0, hidden(kSize))));
}

void free_in_heap(bool is_own) {
  const HANDLE heap = HeapCreate(0, 0, 0);
  char* const block = make(heap);
  const bool is_freed = HeapFree(is_own ? heap : GetProcessHeap(), 0, hidden(block)) != 0;
  require(is_freed || !is_own, "a heap frees its blocks");
  HeapDestroy(heap);
}

void destroy_heap_with_blocks() {
  const HANDLE heap = HeapCreate(0, 0, 0);
  write_byte(make(heap), 0);
  HeapDestroy(heap);
}

void free_moveable() {
  const HGLOBAL handle = GlobalAlloc(GMEM_MOVEABLE, kSize);
  write_byte(static_cast<char*>(GlobalLock(handle)), 0);
  GlobalUnlock(handle);
  require(GlobalFree(handle) == nullptr, "a moveable block is freed by its handle");
}

struct Variant {
  const char* name;
  Misuse misuse;
  void (*run)();
};

constexpr Variant kVariants[] = {
    {"HeapFree/of_another_heap", {Kind::kMismatchedRelease, kCalls}, [] { free_in_heap(false); }},
    {"HeapFree/good_own_heap", kGood, [] { free_in_heap(true); }},
    {"HeapDestroy/good_with_blocks", kGood, destroy_heap_with_blocks},
    {"GlobalFree/good_moveable", kGood, free_moveable},
};

/// By the system's C library: GCC's own printf is linked into the program.
constexpr Writer kWriters[] = {
    {"_snprintf", 1,
     [](char* to, std::size_t bytes) { _snprintf(to, bytes, "%s", text_of<char>(200)); }},
    {"_snwprintf", kWide,
     [](char* to, std::size_t bytes) {
       _snwprintf(wide(to), bytes / kWide, L"%ls", text_of<wchar_t>(200));
     }},
};

/// Room for whatever it finds behind a block.
char copy[64 * 1024];

constexpr Reader kReader{"_snprintf", 1, [](const char* from, std::size_t) {
                           _snprintf(copy, sizeof(copy), "%s", from);
                         }};

}  // namespace

void add_system_families(Cases& cases) {
  for (const Writer& writer : kWriters) {
    add_writer(cases, writer);
  }
  add_reader(cases, kReader);
  for (const Variant& variant : kVariants) {
    for (const Thread thread : kBothThreads) {
      cases.add({"windows", variant.name, name_of(thread)}, variant.misuse,
                [&](auto&) { run_on(thread, variant.run); });
    }
  }
}

}  // namespace corpus
