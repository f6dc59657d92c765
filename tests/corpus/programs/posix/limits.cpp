#include <errno.h>
#include <stdlib.h>

#include <limits>

#include "../hidden.hpp"
#include "families.hpp"

namespace corpus {
namespace {

constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max() / 2 - 100;

void refuse_alignment() {
  void* block = nullptr;
  require(posix_memalign(&block, hidden(std::size_t{3}), 64) == EINVAL,
          "an alignment that is no power of two is refused");
}

void refuse_huge() {
  void* block = nullptr;
  require(posix_memalign(&block, 64, hidden(kHuge)) == ENOMEM,
          "what is larger than any memory is refused");
}

void refuse_overflow() {
  void* const block = malloc(64);
  require(reallocarray(hidden(block), hidden(kHuge), 4) == nullptr,
          "a product that overflows is refused");
  free(block);
}

struct Variant {
  const char* name;
  void (*run)();
};

constexpr Variant kVariants[] = {
    {"posix_memalign_alignment_3/good_refused", refuse_alignment},
    {"posix_memalign_huge/good_refused", refuse_huge},
    {"reallocarray_overflow/good_refused", refuse_overflow},
};

}  // namespace

void add_posix_limits(Cases& cases) {
  for (const Variant& variant : kVariants) {
    cases.add({"limits", variant.name}, kGood, [&](auto&) { variant.run(); });
  }
}

}  // namespace corpus
