/// Which frames are a test framework's own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/dump/named_stacks.hpp"

namespace alloctap::testing {

/// The name of `function` without what it returns and takes: "testing::Test::Run" of "void
/// testing::Test::Run()". Of a name that does not look like one of C++, some part of it.
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

/// Tells what a framework does from what the tests do, by the names of functions. Thread-safe.
class FrameworkFrames {
 public:
  /// `scopes`: how the names of its functions begin, such as "testing::". They outlive this.
  explicit constexpr FrameworkFrames(std::span<const std::string_view> scopes) noexcept
      : scopes_(scopes) {}

  [[nodiscard]] bool has(const NamedFrame& frame) const noexcept {
    return begins_with_one_of(qualified_name(frame.function), scopes_);
  }

  /// Whether the tests have no part in an allocation. The framework made it: the innermost of
  /// `frames`, leaf first, that is neither an allocation function nor of the standard library, is
  /// its own. Or the C library did, for what it keeps: the stack of a thread, for the next one,
  /// what is to be done when a thread ends, and where modules are.
  [[nodiscard]] bool allocated(std::span<const NamedFrame> frames) const noexcept {
    if (std::any_of(frames.begin(), frames.end(), &is_kept_by_library)) return true;
    const auto* const first = std::find_if_not(frames.data(), end_of(frames), &is_neutral);
    return first != end_of(frames) && has(*first);
  }

  /// `frames`, leaf first, without those of the standard library inside of its function that was
  /// called first.
  [[nodiscard]] static std::span<const NamedFrame> without_library(
      std::span<const NamedFrame> frames) noexcept {
    const auto caller = std::find_if_not(frames.begin(), frames.end(), &is_neutral);
    const auto inner = caller - frames.begin();
    return caller == frames.end() || inner < 2
               ? frames
               : frames.subspan(static_cast<std::size_t>(inner) - 1);
  }

  /// The same without the framework's that run the test, and what is outside of them.
  [[nodiscard]] std::span<const NamedFrame> cut(std::span<const NamedFrame> frames) const noexcept {
    return without_library(frames.first(size_inside(frames)));
  }

  /// How many return addresses `frames`, leaf first, have inside of those of the framework that run
  /// the test.
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

  /// Works for whoever calls it.
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

  /// Of glibc, whose debug information knows them by other names than its symbol table.
  static bool is_kept_by_library(const NamedFrame& frame) noexcept {
    static constexpr std::array<std::string_view, 5> kBeginnings{
        "_dl_allocate_tls", "pthread_create@", "__pthread_create", "__cxa_thread_atexit",
        "_dlfo_mappings_segment_allocate"};
    return frame.function == "pthread_create" || begins_with_one_of(frame.function, kBeginnings);
  }

  std::span<const std::string_view> scopes_;
};

}  // namespace alloctap::testing
