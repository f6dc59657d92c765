/// What a test says of allocations: for every file with tests, and light. The bodies are in
/// testing/impl/expectations.hpp, which the file that runs the tests has from its adapter
/// (testing/doctest_adapter.hpp and the like).
#pragma once

#include <cstdint>
#include <source_location>

#include "alloctap/annotate.hpp"
#include "alloctap/testing/measured_callable.hpp"

namespace alloctap::testing {

/// A `MeasuredCallable`, whatever it calls. Refers to it.
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
  /// As `MeasuredCallable::caller`.
  [[nodiscard]] std::uintptr_t caller() const noexcept { return caller_(body_); }

 private:
  void* body_;
  void (*run_)(void* measured);
  std::uintptr_t (*caller_)(const void* measured) noexcept;
};

/// Where a baseline is kept.
struct BaselinePlace {
  /// nullptr: what ALLOCTAP_BASELINES says, or "baselines" in the working directory.
  const char* directory = nullptr;
  /// Whether stacks end where the program calls the C++ standard library: shorter, and the same
  /// with other versions of it.
  bool without_library = false;
};

/// The bodies, which do not depend on what is measured.
template <class = void>
struct Expectations {
  static bool allocations(std::uint64_t most, MeasuredCall body, const std::source_location& where);
  static bool no_growth(std::uint32_t iterations, MeasuredCall body,
                        const std::source_location& where);
  static bool baseline(Name name, MeasuredCall body, const BaselinePlace& place,
                       const std::source_location& where);
};

extern template struct Expectations<void>;

/// Calls `body()`. If the calling thread allocated more than `most` times in it, the test fails and
/// continues; the failure has the stacks. What the framework's own assertions in it
/// allocate does not count. What `body` throws passes through. Whether it was well.
///
/// Needs a tracker with `TestConfig` that runs: `run_doctest` and the like start it.
template <class Body>
bool expect_allocations(std::uint64_t most, Body&& body,
                        const std::source_location& where = std::source_location::current()) {
  MeasuredCallable measured(body);
  return Expectations<>::allocations(most, MeasuredCall(measured), where);
}

/// The same, where `body()` must not allocate at all.
template <class Body>
bool expect_no_allocation(Body&& body,
                          const std::source_location& where = std::source_location::current()) {
  return expect_allocations(0, body, where);
}

/// Calls `body()` twice, and then `iterations` times more, at least 2. The test fails where blocks
/// or bytes that it holds, on this thread or on those that it starts, grew in the first half of
/// these calls and in the second: by one call or by all of them. Caches that the first calls fill
/// are no growth.
template <class Body>
bool expect_no_growth(std::uint32_t iterations, Body&& body,
                      const std::source_location& where = std::source_location::current()) {
  MeasuredCallable measured(body);
  return Expectations<>::no_growth(iterations, MeasuredCall(measured), where);
}

/// Calls `body()`. The test fails where it allocated otherwise, stack by stack, than the file
/// `<directory>/<name>.baseline` says; ALLOCTAP_UPDATE_BASELINES=1 writes that file. What
/// `allocation_baseline` says of stacks and files holds here too; that has tolerances, and a result
/// to look at.
template <class Body>
bool expect_baseline(Name name, Body&& body, const BaselinePlace& place = {},
                     const std::source_location& where = std::source_location::current()) {
  MeasuredCallable measured(body);
  return Expectations<>::baseline(name, MeasuredCall(measured), place, where);
}

}  // namespace alloctap::testing
