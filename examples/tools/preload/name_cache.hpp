/// A cache of function names, files and lines for a process and all that it forks.
///
/// The report of a followed child has mostly the stacks of its parent. Without the cache every
/// child reads the same debug information: 60 to 190 ms for Python, with it 1.5 ms (a child that
/// does nothing).
#pragma once

#include <alloctap/symbol/symbols.hpp>

namespace alloctap::run {

/// A lock-free hash table with open addressing, in pages shared with forked processes, not with
/// executed programs. Entries are never removed; a full table takes no more. Safe between
/// processes, whenever one of them is killed. Allocates nothing.
class NameCache {
 public:
  /// Maps the pages, which cost nothing until they are used. Called before the first fork.
  static void create() noexcept;

  /// Returns false if it was not created, or the system had no memory.
  [[nodiscard]] static bool exists() noexcept;

  /// Adds the frames of `code` to `symbols` as those of its place `place`. Returns false if they
  /// are not in the cache. An address without a name is in it, with no frames.
  [[nodiscard]] static bool find(const CodeAddress& code, std::size_t place,
                                 Symbols& symbols) noexcept;

  /// Stores the frames of `code`, innermost first.
  static void add(const CodeAddress& code, std::span<const SourceFrame> frames) noexcept;

  /// Single flight: returns true if this process is to find the names that are missing. Otherwise
  /// waits until the process that does has finished, and returns false: look them up again. Takes
  /// the turn from a process that was killed, or takes longer than two seconds.
  [[nodiscard]] static bool take_turn() noexcept;

  /// Ends the turn and wakes the processes that wait.
  static void end_turn() noexcept;
};

}  // namespace alloctap::run
