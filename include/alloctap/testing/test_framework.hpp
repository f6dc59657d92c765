/// The interface to the test framework that reports failures.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <string_view>

#include "alloctap/os/file.hpp"
#include "alloctap/testing/framework_frames.hpp"

namespace alloctap::testing {

/// Failure function and name prefixes of one framework, supplied by its adapter.
struct TestFramework {
  /// Prefixes of the framework's function names.
  std::span<const std::string_view> scopes;
  /// Fails this thread's current test, which continues. The failure is shown at `file:line`.
  void (*fail)(const char* file, int line, const std::string& message) = nullptr;

  /// Selects the framework. The object must stay valid. Adapters such as `run_doctest` call this.
  static void use(const TestFramework& framework) noexcept {
    current_.store(&framework, std::memory_order_release);
  }

  [[nodiscard]] static FrameworkFrames frames() noexcept {
    const TestFramework* const framework = current_.load(std::memory_order_acquire);
    return FrameworkFrames(framework == nullptr ? std::span<const std::string_view>{}
                                                : framework->scopes);
  }

  /// Fails the test. If no framework was selected, prints the message to standard error.
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
