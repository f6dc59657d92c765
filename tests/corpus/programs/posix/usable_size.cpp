#include <malloc.h>

#include "../allocation_ways.hpp"
#include "families.hpp"

namespace corpus {
namespace {

std::size_t usable(char* block) { return hidden(malloc_usable_size(hidden(block))); }

/// A program may use all that it is told it has.
void write_usable(const Way& way, std::size_t beyond) {
  Neighbours neighbours;
  char* const block = way.make();
  neighbours.add_after();
  const std::size_t size = usable(block);
  require(size >= way.size, "a block has at least the size that was asked for");
  write_byte(block, static_cast<std::ptrdiff_t>(size - 1 + beyond));
  way.drop(block);
}

void ask_of(char* pointer) { use(usable(pointer)); }

void ask_of_freed(const Way& way) {
  char* const block = way.make();
  way.drop(block);
  ask_of(block);
}

void ask_of_interior(const Way& way) {
  char* const block = way.make();
  ask_of(hidden(block) + 16);
  way.drop(block);
}

}  // namespace

void add_usable_size(Cases& cases) {
  const Way& way = portable_ways().front();
  for (const Way& each : {portable_ways()[0], portable_ways()[1]}) {
    cases.add({"usable_size", each.name, "good_last_byte"}, kGood,
              [&](auto&) { write_usable(each, 0); });
    cases.add({"usable_size", each.name, "1_byte_more"},
              {Kind::kWriteAfter, each.size % 16 == 0 ? kGuardBytes | kPageAfter : kGuardBytes},
              [&](auto&) { write_usable(each, 1); });
  }
  cases.add({"usable_size", "malloc", "good_null"}, kGood,
            [](auto&) { require(usable(nullptr) == 0, "null has no usable bytes"); });
  cases.add({"usable_size", "malloc", "freed"}, {Kind::kUnknownPointer, kCalls},
            [&](auto&) { ask_of_freed(way); });
  cases.add({"usable_size", "malloc", "interior"}, {Kind::kUnknownPointer, kCalls},
            [&](auto&) { ask_of_interior(way); });
}

}  // namespace corpus
