/// Interfaces to the test framework and to the tracker of a test program.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/session.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/inherited_tags.hpp"

namespace alloctap::testing {

/// Returns the name of `function` without return type and parameters: "testing::Test::Run" for
/// "void testing::Test::Run()". If `function` is not a C++ name, returns some substring.
[[nodiscard]] inline std::string_view qualified_name(std::string_view function) noexcept {
  constexpr std::string_view kOperator = "operator";
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < function.size(); ++i) {
    const std::string_view rest = function.substr(i);
    if (depth == 0 && rest.starts_with(kOperator)) return function.substr(begin, i + 8 - begin);
    if (rest.starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
    } else if (rest[0] == '(' && depth == 0) {
      return function.substr(begin, i - begin);
    } else if (std::string_view("<({[").find(rest[0]) != rest.npos) {
      ++depth;
    } else if (std::string_view(">)}]").find(rest[0]) != rest.npos) {
      --depth;
    } else if (rest[0] == ' ' && depth == 0) {
      begin = i + 1;
    }
  }
  return function.substr(begin);
}

/// Separates a test framework's frames from frames of tests, by function name. Thread-safe.
class FrameworkFrames {
 public:
  /// `scopes`: name prefixes of the framework, such as "testing::". They must outlive this object.
  explicit constexpr FrameworkFrames(std::span<const std::string_view> scopes) noexcept
      : scopes_(scopes) {}

  [[nodiscard]] bool has(const NamedFrame& frame) const noexcept {
    return begins_with_one_of(qualified_name(frame.function), scopes_);
  }

  /// Returns true if the tests did not cause the allocation at `frames` (leaf first). That is the
  /// case if the first frame outside of allocators and the standard library is the framework's, or
  /// if glibc allocated for its own caches: thread stacks, thread exit handlers, module maps.
  [[nodiscard]] bool allocated(std::span<const NamedFrame> frames) const noexcept {
    if (std::any_of(frames.begin(), frames.end(), &is_kept_by_library)) return true;
    const auto* const first = std::find_if_not(frames.data(), end_of(frames), &is_neutral);
    return first != end_of(frames) && has(*first);
  }

  /// Returns `frames` (leaf first) without the frames that are inside the allocation function or
  /// standard library function which the program called.
  [[nodiscard]] static std::span<const NamedFrame> without_library(
      std::span<const NamedFrame> frames) noexcept {
    const auto caller = std::find_if_not(frames.begin(), frames.end(), &is_neutral);
    const auto inner = caller - frames.begin();
    return caller == frames.end() || inner < 2
               ? frames
               : frames.subspan(static_cast<std::size_t>(inner) - 1);
  }

  /// Returns `frames` without internals of the standard library, and without the framework's frames
  /// that called the test.
  [[nodiscard]] std::span<const NamedFrame> cut(std::span<const NamedFrame> frames) const noexcept {
    return without_library(frames.first(size_inside(frames)));
  }

  /// Returns how many return addresses in `frames` (leaf first) are further in than the framework's
  /// frames that run the test. Frames of inlined functions have no return address.
  [[nodiscard]] std::size_t addresses_inside(std::span<const NamedFrame> frames) const noexcept {
    const auto inside = frames.first(size_inside(frames));
    return static_cast<std::size_t>(std::count_if(
        inside.begin(), inside.end(), [](const NamedFrame& frame) { return !frame.inlined; }));
  }

 private:
  [[nodiscard]] std::size_t size_inside(std::span<const NamedFrame> frames) const noexcept {
    const auto is_ours = [this](const NamedFrame& frame) { return has(frame); };
    const auto inner = std::find_if_not(frames.begin(), frames.end(), is_ours);
    return static_cast<std::size_t>(std::find_if(inner, frames.end(), is_ours) - frames.begin());
  }

  static const NamedFrame* end_of(std::span<const NamedFrame> frames) noexcept {
    return frames.data() + frames.size();
  }

  static bool begins_with_one_of(std::string_view name,
                                 std::span<const std::string_view> beginnings) noexcept {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [name](std::string_view scope) { return name.starts_with(scope); });
  }

  /// Returns true for allocation functions and the standard library, which act for their callers.
  static bool is_neutral(const NamedFrame& frame) noexcept {
    static constexpr std::array<std::string_view, 4> kLibrary{
        "std::", "__gnu_cxx::", "__cxxabiv1::", "__gnu_debug::"};
    static constexpr std::array<std::string_view, 2> kOperators{"operator new", "operator delete"};
    static constexpr std::array<std::string_view, 4> kFunctions{"malloc", "calloc", "realloc",
                                                                "strdup"};
    return begins_with_one_of(frame.function, kOperators) ||
           begins_with_one_of(qualified_name(frame.function), kLibrary) ||
           std::find(kFunctions.begin(), kFunctions.end(), frame.function) != kFunctions.end();
  }

  /// Returns true for glibc functions that allocate for caches of glibc. Lists two names for some
  /// functions, because debug information and the symbol table name them differently.
  static bool is_kept_by_library(const NamedFrame& frame) noexcept {
    static constexpr std::array<std::string_view, 5> kBeginnings{
        "_dl_allocate_tls", "pthread_create@", "__pthread_create", "__cxa_thread_atexit",
        "_dlfo_mappings_segment_allocate"};
    return frame.function == "pthread_create" || begins_with_one_of(frame.function, kBeginnings);
  }

  std::span<const std::string_view> scopes_;
};

/// Failure function and name prefixes of one framework, supplied by its adapter.
struct TestFramework {
  /// Prefixes of the framework's function names.
  std::span<const std::string_view> scopes;
  /// Fails this thread's current test, which continues. The failure is shown at `file:line`.
  void (*fail)(const char* file, int line, const std::string& message) = nullptr;

  /// Selects `framework`, which must never be destroyed. Adapters such as `run_doctest` call this.
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

/// Function pointers to a tracker's functions, so that only one source file of a test program needs
/// the tracker's type and compiles its code.
class TestTracker {
 public:
  /// Selects the tracker. Adapters such as `run_doctest` call this. Thread-safe.
  template <class Tracker>
  static void use() noexcept {
    static_assert(std::is_base_of_v<InheritedTags, typename Tracker::Tags>,
                  "a tracker of tests puts memory down to test cases: derive its configuration "
                  "from alloctap::testing::TestConfig, or set Tags = alloctap::InheritedTags");
    static constexpr TestTracker kTracker{
        {.running = &Tracker::running,
         .start = &Tracker::start,
         .snapshot = [] { return Tracker::snapshot(); },
         .name_stacks =
             [](std::span<const StackId> stacks) { return Tracker::name_stacks(stacks); }}};
    current_.store(&kTracker, std::memory_order_release);
  }

  /// Returns the selected tracker; nullptr before `use`.
  [[nodiscard]] static const TestTracker* current() noexcept {
    return current_.load(std::memory_order_acquire);
  }

  /// Returns the error to report if no tracker was selected.
  [[nodiscard]] static Status missing() {
    return Status::failed_precondition(
        "no tracker watches this test: start the tests by alloctap::testing::run_doctest<Tracker>, "
        "run_googletest<Tracker> or run_catch2<Tracker>, or call "
        "alloctap::testing::TestTracker::use<Tracker>() and Tracker::start() before");
  }

  [[nodiscard]] bool running() const noexcept { return functions_.running(); }
  [[nodiscard]] Result<Session> start() const { return functions_.start(); }
  [[nodiscard]] Result<Snapshot> snapshot() const { return functions_.snapshot(); }
  [[nodiscard]] Result<NamedStacks> name_stacks(std::span<const StackId> stacks) const {
    return functions_.name_stacks(stacks);
  }

 private:
  struct Functions {
    bool (*running)() noexcept;
    Result<Session> (*start)();
    Result<Snapshot> (*snapshot)();
    Result<NamedStacks> (*name_stacks)(std::span<const StackId>);
  };

  explicit constexpr TestTracker(const Functions& functions) : functions_(functions) {}

  Functions functions_;
  static inline constinit std::atomic<const TestTracker*> current_{nullptr};
};

}  // namespace alloctap::testing
