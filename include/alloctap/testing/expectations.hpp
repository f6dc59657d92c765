/// Declarations of assertions about allocations, for files with tests. The definitions are in
/// testing/impl/expectations.hpp. The file that runs the tests includes the definitions by an
/// adapter, such as testing/doctest_adapter.hpp.
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

/// Directory of a baseline file, and the selection of its frames.
struct BaselinePlace {
  /// If nullptr, uses the directory that the environment variable ALLOCTAP_BASELINES names, or else
  /// "baselines" in the working directory.
  const char* directory = nullptr;
  /// Omits frames that are inside a C++ standard library function which the program called. This
  /// makes stacks shorter and independent of the library's version.
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

/// Calls `body()`. If the calling thread allocated more than `most` times in `body`, fails the test
/// with a message that has the stacks, and returns false; the test continues. Allocations of the
/// framework's assertions do not count. Passes exceptions of `body` on.
///
/// Requires a tracker with `TestConfig` that has a session. `run_doctest` and the other adapters
/// start one.
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

/// Calls `body()`. Fails the test if the allocations of `body` per stack differ from the file
/// `<directory>/<name>.baseline`. If ALLOCTAP_UPDATE_BASELINES is 1, writes that file instead.
/// `allocation_baseline` documents stacks and files; it also accepts tolerances.
template <class Body>
bool expect_baseline(Name name, Body&& body, const BaselinePlace& place = {},
                     const std::source_location& where = std::source_location::current()) {
  MeasuredCallable measured(body);
  return Expectations<>::baseline(name, MeasuredCall(measured), place, where);
}

}  // namespace alloctap::testing
