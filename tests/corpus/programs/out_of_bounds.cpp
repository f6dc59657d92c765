#include "allocation_ways.hpp"
#include "families.hpp"
#include "threads.hpp"

namespace corpus {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kGuard = 32;

/// The byte that is accessed is the `bytes`th behind the block, or before it.
struct Distance {
  const char* name;
  std::size_t bytes;
};
constexpr Distance kDistances[] = {
    {"1_byte", 1}, {"8_bytes", 8}, {"32_bytes", 32}, {"page", kPage}};

struct Access {
  const char* family;
  Kind kind;
  bool writes;
  bool is_after;
};
constexpr Access kAccesses[] = {
    {"write_after", Kind::kWriteAfter, true, true},
    {"write_before", Kind::kWriteBefore, true, false},
    {"read_after", Kind::kReadAfter, false, true},
    {"read_before", Kind::kReadBefore, false, false},
};

/// Between the end of a block that a page without access follows and that page.
std::size_t padding_of(const Way& way) {
  return (way.alignment - way.size % way.alignment) % way.alignment;
}

Misuse misuse_of(const Access& access, const Way& way, std::size_t distance) {
  unsigned seen_by = kNothing;
  if (access.writes && distance <= kGuard) {
    seen_by |= kGuardBytes;
  }
  if (!access.is_after) {
    seen_by |= kPageBefore;
  } else if (distance > padding_of(way)) {
    seen_by |= kPageAfter;
  }
  return {access.kind, seen_by};
}

void access_at(const Access& access, const Way& way, std::ptrdiff_t offset, Thread thread) {
  Neighbours neighbours{way.size};
  char* const block = way.make();
  neighbours.add_after();
  run_on(thread, [&] { access.writes ? write_byte(block, offset) : read_byte(block, offset); });
  way.drop(block);
}

std::ptrdiff_t offset_of(const Access& access, const Way& way, std::size_t distance) {
  const auto signed_distance = static_cast<std::ptrdiff_t>(distance);
  return access.is_after ? static_cast<std::ptrdiff_t>(way.size) - 1 + signed_distance
                         : -signed_distance;
}

void add_access(Cases& cases, const Access& access, const Way& way, Thread thread) {
  for (const Distance& distance : kDistances) {
    cases.add({access.family, way.name, distance.name, name_of(thread)},
              misuse_of(access, way, distance.bytes), [&](auto&) {
                access_at(access, way, offset_of(access, way, distance.bytes), thread);
              });
  }
  // The byte that is next to the wrong ones, and still the block's.
  const char* const variant = access.is_after ? "good_last_byte" : "good_first_byte";
  cases.add({access.family, way.name, variant, name_of(thread)}, kGood,
            [&](auto&) { access_at(access, way, offset_of(access, way, 0), thread); });
}

}  // namespace

void add_out_of_bounds(Cases& cases) {
  for (const Access& access : kAccesses) {
    for_each_way([&](const Way& way) {
      for (const Thread thread : kBothThreads) {
        if (thread == Thread::kMain || way.is_common) {
          add_access(cases, access, way, thread);
        }
      }
    });
  }
}

}  // namespace corpus
