#include <doctest/doctest.h>

#include "alloctap/runtime/static_objects.hpp"

namespace {

struct Counting {
  Counting() { ++made; }
  ~Counting() { ++destroyed; }
  int value = 42;
  static inline int made = 0;
  static inline int destroyed = 0;
};

constinit alloctap::NoDestroyLazy<Counting> late;

}  // namespace

TEST_CASE("a late object is made on first use, once, and never destroyed") {
  CHECK(Counting::made == 0);
  late.get().value = 7;
  CHECK(late.get().value == 7);
  CHECK(Counting::made == 1);
  {
    alloctap::NoDestroyLazy<Counting>().get();
  }
  CHECK(Counting::made == 2);
  CHECK(Counting::destroyed == 0);
}
