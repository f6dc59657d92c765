/// The test framework that the functions of testing/ tell of failures.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <string_view>

#include "alloctap/os/file.hpp"
#include "alloctap/testing/framework_frames.hpp"

namespace alloctap::testing {

/// What a framework's adapter knows of it.
struct TestFramework {
  /// How the names of its functions begin.
  std::span<const std::string_view> scopes;
  /// The test that runs on this thread fails, at that place, and goes on.
  void (*fail)(const char* file, int line, const std::string& message) = nullptr;

  /// From now on failures go to `framework`, which stays. `run_doctest` and the like call it.
  static void use(const TestFramework& framework) noexcept {
    current_.store(&framework, std::memory_order_release);
  }

  [[nodiscard]] static FrameworkFrames frames() noexcept {
    const TestFramework* const framework = current_.load(std::memory_order_acquire);
    return FrameworkFrames(framework == nullptr ? std::span<const std::string_view>{}
                                                : framework->scopes);
  }

  /// Fails the test; without a framework, a line on standard error says so.
  static void report(const char* file, int line, const std::string& message) {
    const TestFramework* const framework = current_.load(std::memory_order_acquire);
    if (framework != nullptr) return framework->fail(file, line, message);
    constexpr int kStandardError = 2;
    os::write_all(kStandardError, std::string(file) + ":" + std::to_string(line) + ": " + message);
  }

 private:
  static inline constinit std::atomic<const TestFramework*> current_{nullptr};
};

}  // namespace alloctap::testing
