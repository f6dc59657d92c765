#include "alloctap/observe/observers.hpp"

#include <doctest/doctest.h>

namespace {

using namespace alloctap;

/// Adds itself to a snapshot, which is a number here.
template <int kValue, bool kResult>
struct Adding {
  static constexpr ObserverFeatures features{.add_to = true};
  static void on_track(const ObservedBlock&) noexcept {}
  static void on_untrack(const ObservedBlock&) noexcept {}
  static bool add_to(int& snapshot) noexcept {
    snapshot += kValue;
    return kResult;
  }
};

struct AddingNothing {
  static void on_track(const ObservedBlock&) noexcept {}
  static void on_untrack(const ObservedBlock&) noexcept {}
};

}  // namespace

TEST_CASE("a snapshot has what all observers add, or it is not whole") {
  int snapshot = 0;
  static_assert(!Observers<>::features.add_to);
  CHECK(Observers<Adding<1, true>, AddingNothing, Adding<2, true>>::add_to(snapshot));
  CHECK(snapshot == 3);
  CHECK_FALSE(Observers<Adding<1, false>, AddingNothing>::add_to(snapshot));
  CHECK_FALSE(Observers<AddingNothing, Adding<1, false>>::add_to(snapshot));
  CHECK_FALSE(Observers<Adding<1, true>, Adding<1, false>>::add_to(snapshot));
}
