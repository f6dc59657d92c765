/// Declarations of assertions about allocations, for files with tests. The file that runs the tests
/// gets their definitions (testing/impl/expectations.hpp) from the adapter that it includes, such
/// as testing/doctest_adapter.hpp.
#pragma once

#include <cstdint>
#include <source_location>

#include "alloctap/annotate.hpp"
#include "alloctap/testing/measured_callable.hpp"

namespace alloctap::testing {

/// A type-erased reference to a `MeasuredCallable`.
class MeasuredCall {
 public:
  template <class Body>
  explicit MeasuredCall(MeasuredCallable<Body>& body) noexcept
      : body_(&body),
        run_([](void* measured) { (*static_cast<MeasuredCallable<Body>*>(measured))(); }),
        caller_([](const void* measured) noexcept {
          return static_cast<const MeasuredCallable<Body>*>(measured)->caller();
        }) {}

  void operator()() const { run_(body_); }
  /// See `MeasuredCallable::caller`.
  [[nodiscard]] std::uintptr_t caller() const noexcept { return caller_(body_); }

 private:
  void* body_;
  void (*run_)(void* measured);
  std::uintptr_t (*caller_)(const void* measured) noexcept;
};

/// Location and format of a baseline.
struct BaselinePlace {
  /// If nullptr: the environment variable ALLOCTAP_BASELINES, or "baselines" in the working
  /// directory.
  const char* directory = nullptr;
  /// Omits frames inside the C++ standard library, which makes stacks shorter and independent of
  /// its version.
  bool without_library = false;
};

/// The code of the assertions that does not depend on the callable's type.
template <class = void>
struct Expectations {
  static bool allocations(std::uint64_t most, MeasuredCall body, const std::source_location& where);
  static bool no_growth(std::uint32_t iterations, MeasuredCall body,
                        const std::source_location& where);
  static bool baseline(Name name, MeasuredCall body, const BaselinePlace& place,
                       const std::source_location& where);
};

extern template struct Expectations<void>;

/// Calls `body()`. Fails the test, which continues, if the calling thread allocated more than
/// `most` times in `body`; the failure message has the stacks. Allocations of the framework's
/// assertions do not count. Passes exceptions of `body` on. Returns true on success.
///
/// Requires a running tracker with `TestConfig`. `run_doctest` and the other adapters start it.
template <class Body>
bool expect_allocations(std::uint64_t most, Body&& body,
                        const std::source_location& where = std::source_location::current()) {
  MeasuredCallable measured(body);
  return Expectations<>::allocations(most, MeasuredCall(measured), where);
}

/// Fails the test if `body()` allocates on the calling thread. See `expect_allocations`.
template <class Body>
bool expect_no_allocation(Body&& body,
                          const std::source_location& where = std::source_location::current()) {
  return expect_allocations(0, body, where);
}

/// Calls `body()` twice as a warm-up, then `iterations` times (at least 2). Fails the test if the
/// live blocks or bytes of a stack grew in both halves of the iterations. Includes allocations of
/// threads that `body` starts. Caches filled during the warm-up are not reported.
template <class Body>
bool expect_no_growth(std::uint32_t iterations, Body&& body,
                      const std::source_location& where = std::source_location::current()) {
  MeasuredCallable measured(body);
  return Expectations<>::no_growth(iterations, MeasuredCall(measured), where);
}

/// Calls `body()`. Fails the test if its allocations per stack differ from
/// `<directory>/<name>.baseline`. ALLOCTAP_UPDATE_BASELINES=1 writes that file instead.
/// `allocation_baseline` documents stacks and files; it also has tolerances and returns the result.
template <class Body>
bool expect_baseline(Name name, Body&& body, const BaselinePlace& place = {},
                     const std::source_location& where = std::source_location::current()) {
  MeasuredCallable measured(body);
  return Expectations<>::baseline(name, MeasuredCall(measured), place, where);
}

}  // namespace alloctap::testing
