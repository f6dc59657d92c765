#include <cstring>

#include "allocation_ways.hpp"
#include "families.hpp"
#include "texts.hpp"

namespace corpus {
namespace {

constexpr Misuse kMisuse{Kind::kOverlappingCopy, kStringChecks};

/// `block` has 64 bytes, of which 10 or more at the start are a string of letters.
struct Copy {
  const char* name;
  Misuse misuse;
  void (*run)(char* block);
};

constexpr Copy kCopies[] = {
    {"memcpy/forward", kMisuse, [](char* block) { std::memcpy(block, block + 1, 20); }},
    {"memcpy/backward", kMisuse, [](char* block) { std::memcpy(block + 8, block, 20); }},
    {"memcpy/last_byte", kMisuse, [](char* block) { std::memcpy(block + 15, block, 16); }},
    {"memcpy/good_side_by_side", kGood, [](char* block) { std::memcpy(block + 16, block, 16); }},
    {"memcpy/good_no_bytes", kGood, [](char* block) { std::memcpy(block + 1, block, 0); }},
    {"memmove/good_forward", kGood, [](char* block) { std::memmove(block, block + 1, 20); }},
    {"memmove/good_backward", kGood, [](char* block) { std::memmove(block + 8, block, 20); }},
    {"strcpy/forward", kMisuse, [](char* block) { std::strcpy(block, block + 1); }},
    {"strcpy/good_apart", kGood, [](char* block) { std::strcpy(block + 32, block); }},
    {"strncpy/forward", kMisuse, [](char* block) { std::strncpy(block, block + 2, 8); }},
    {"strncpy/good_side_by_side", kGood, [](char* block) { std::strncpy(block + 8, block, 8); }},
    {"strncat/onto_itself", kMisuse, [](char* block) { std::strncat(block, block + 2, 4); }},
    {"strncat/good_apart", kGood,
     [](char* block) {
       block[32] = '\0';
       std::strncat(block + 32, block, 4);
     }},
    {"wmemcpy/forward", kMisuse,
     [](char* block) { std::wmemcpy(wide(block), wide(block) + 1, 4); }},
    {"wmemmove/good_forward", kGood,
     [](char* block) { std::wmemmove(wide(block), wide(block) + 1, 4); }},
    {"wcscpy/forward", kMisuse,
     [](char* block) {
       std::wcscpy(wide(block), text_of<wchar_t>(5));
       std::wcscpy(wide(block), wide(block) + 1);
     }},
};

void copy_within(const Copy& copy, const Way& way) {
  char* const block = way.make();
  std::memset(block, 'a', way.size);
  block[12] = '\0';
  copy.run(hidden(block));
  way.drop(block);
}

}  // namespace

void add_overlapping_copy(Cases& cases) {
  for (const Way& way : portable_ways()) {
    if (way.is_common) {
      for (const Copy& copy : kCopies) {
        cases.add({"overlapping_copy", copy.name, way.name}, copy.misuse,
                  [&](auto&) { copy_within(copy, way); });
      }
    }
  }
}

}  // namespace corpus
