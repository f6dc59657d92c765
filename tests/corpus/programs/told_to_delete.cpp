#include <new>

#include "families.hpp"
#include "hidden.hpp"
#include "threads.hpp"

namespace corpus {
namespace {

constexpr std::size_t kSize = 64;

struct Told {
  const char* name;
  std::size_t value;
};

constexpr Told kSizes[] = {
    {"good_64", kSize}, {"63", kSize - 1}, {"65", kSize + 1}, {"8", 8}, {"4096", 4096}};

void delete_with_size(bool is_array, std::size_t told) {
  if (is_array) {
    ::operator delete[](hidden(::operator new[](hidden(kSize))), hidden(told));
  } else {
    ::operator delete(hidden(::operator new(hidden(kSize))), hidden(told));
  }
}

void delete_aligned_with_size(bool is_array, std::size_t told) {
  constexpr std::align_val_t kAlignment{64};
  if (is_array) {
    ::operator delete[](hidden(::operator new[](hidden(kSize), kAlignment)), hidden(told),
                        kAlignment);
  } else {
    ::operator delete(hidden(::operator new(hidden(kSize), kAlignment)), hidden(told), kAlignment);
  }
}

void add_sizes(Cases& cases) {
  constexpr Misuse kMisuse{Kind::kWrongSize, kCalls};
  for (const Told& told : kSizes) {
    for (const bool is_array : {false, true}) {
      for (const Thread thread : kBothThreads) {
        cases.add({"wrong_size", is_array ? "new_array" : "new", told.name, name_of(thread)},
                  told.value == kSize ? kGood : kMisuse,
                  [&](auto&) { run_on(thread, [&] { delete_with_size(is_array, told.value); }); });
      }
      cases.add({"wrong_size", is_array ? "new_aligned_array" : "new_aligned", told.name},
                told.value == kSize ? kGood : kMisuse,
                [&](auto&) { delete_aligned_with_size(is_array, told.value); });
    }
  }
}

/// 0: the form without an alignment.
template <std::size_t Allocated, std::size_t Told>
void delete_with_alignment() {
  void* block = nullptr;
  if constexpr (Allocated == 0) {
    block = ::operator new(hidden(kSize));
  } else {
    block = ::operator new(hidden(kSize), std::align_val_t{Allocated});
  }
  if constexpr (Told == 0) {
    ::operator delete(hidden(block));
  } else {
    ::operator delete(hidden(block), std::align_val_t{Told});
  }
}

struct Alignments {
  const char* name;
  bool is_good;
  void (*run)();
};

constexpr Alignments kAlignments[] = {
    {"good_32_told_32", true, delete_with_alignment<32, 32>},
    {"good_4096_told_4096", true, delete_with_alignment<4096, 4096>},
    {"32_told_64", false, delete_with_alignment<32, 64>},
    {"64_told_32", false, delete_with_alignment<64, 32>},
    {"4096_told_64", false, delete_with_alignment<4096, 64>},
    {"64_told_none", false, delete_with_alignment<64, 0>},
    {"none_told_64", false, delete_with_alignment<0, 64>},
};

void add_alignments(Cases& cases) {
  constexpr Misuse kMisuse{Kind::kWrongAlignment, kCalls};
  for (const Alignments& alignments : kAlignments) {
    for (const Thread thread : kBothThreads) {
      cases.add({"wrong_alignment", alignments.name, name_of(thread)},
                alignments.is_good ? kGood : kMisuse,
                [&](auto&) { run_on(thread, alignments.run); });
    }
  }
}

}  // namespace

void add_told_to_delete(Cases& cases) {
  add_sizes(cases);
  add_alignments(cases);
}

}  // namespace corpus
