#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string_view>

/// Small programs of which each misuses memory in one way, or in none. A case is one of them: it is
/// run as `misuse_corpus NAME`, one process each.
namespace corpus {

/// What a case does wrong.
enum class Kind : unsigned char {
  kNone,
  kReachable,  // nothing: memory is held, by what still lives, to the end
  kDoubleFree,
  kUnknownPointer,
  kMismatchedRelease,
  kWrongSize,
  kWrongAlignment,
  kWriteAfter,
  kWriteBefore,
  kReadAfter,
  kReadBefore,
  kWriteAfterFree,
  kReadAfterFree,
  kOverlappingCopy,
  kLeak,
  kCount,
};

/// What a tool can see a case by; a set. A case without any can be seen only by a tool that looks
/// at every access.
enum Means : unsigned {
  kNothing = 0,
  kCalls = 1,        // the calls of the allocator, with all that is known of blocks, freed ones too
  kGuardBytes = 2,   // 32 known bytes on each side of a block, looked at when it is released
  kFreedFill = 4,    // freed blocks are kept, filled with known bytes that are looked at
  kPageAfter = 8,    // a page without access behind a block, as near as its alignment allows
  kPageBefore = 16,  // one right in front of it
  kFreedPage = 32,   // the pages of freed blocks are kept without access
  kStringChecks =
      64,  // functions of <cstring> look up how large the blocks are that they are given
  kReachability = 128  // a search, at the end, for blocks that no pointer leads to
};
constexpr std::size_t kMeansCount = 8;

struct Misuse {
  Kind kind = Kind::kNone;
  unsigned seen_by = kNothing;
};

inline constexpr Misuse kGood{};
inline constexpr Misuse kHeld{Kind::kReachable};
inline constexpr Misuse kLeaked{Kind::kLeak, kReachability};

/// A family and what tells its cases apart, with slashes between:
/// `write_after/malloc/8_bytes/main`. Has room of its own, so that a case's process allocates what
/// the case does and nothing else.
class Name {
 public:
  Name(std::initializer_list<std::string_view> parts);
  std::string_view text() const { return {text_.data(), length_}; }

 private:
  std::array<char, 120> text_{};
  std::size_t length_ = 0;
};

/// What is to be done with each case.
class Cases {
 public:
  enum class Task { kList, kRunOne, kRunGood };

  Cases(Task task, std::string_view wanted) : task_{task}, wanted_{wanted} {}

  /// Lists the case or runs `body`, as this is for.
  template <typename Body>
  void add(const Name& name, Misuse misuse, const Body& body) {
    if (is_to_run(name, misuse)) {
      body(*this);
    }
  }

  /// Whether the process is for this case alone.
  bool runs_one() const { return task_ == Task::kRunOne; }

  /// For a body whose frame is to stand when the process ends: ends it, unless others are to run.
  void end_here() const;

  int run_count() const { return run_count_; }

 private:
  bool is_to_run(const Name& name, Misuse misuse);

  Task task_;
  std::string_view wanted_;
  int run_count_ = 0;
};

/// A good case calls it for what must hold; if it does not, says so and ends the process with 3.
void require(bool holds, const char* what);

}  // namespace corpus
