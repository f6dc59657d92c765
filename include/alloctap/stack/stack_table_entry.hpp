/// The entry type of a stack table, and a range over a stack's frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"

namespace alloctap {

/// A header followed by the innermost frames of a stack, leaf first. The remaining frames are in
/// `outer`, which other stacks may share. Immutable.
struct StackTableEntry {
  StackHash hash;
  const StackTableEntry* outer = nullptr;
  /// Empty if this entry is a part that several stacks share, not a whole stack.
  StackOwner owner;
  /// The number of frames, including those of `outer`.
  std::uint32_t depth = 0;

  /// Stacks are split into parts of this many frames, counted from the outermost.
  static constexpr std::uint32_t kPartFrames = 8;

  /// Returns the number of frames stored in this entry.
  [[nodiscard]] std::uint32_t own() const noexcept {
    return depth == 0 ? 0 : (depth - 1) % kPartFrames + 1;
  }

  [[nodiscard]] const std::uintptr_t* frames() const noexcept {
    return reinterpret_cast<const std::uintptr_t*>(this + 1);
  }
};

/// A range over the frames of a stored stack, leaf first. Cheap to copy; valid while the table
/// exists.
class StackFrames {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::uintptr_t;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::uintptr_t*;
    using reference = const std::uintptr_t&;

    constexpr Iterator() noexcept = default;
    explicit Iterator(const StackTableEntry* stack) noexcept : stack_(stack) {}

    reference operator*() const noexcept { return stack_->frames()[at_]; }
    Iterator& operator++() noexcept {
      if (++at_ == stack_->own()) {
        stack_ = stack_->outer;
        at_ = 0;
      }
      return *this;
    }
    Iterator operator++(int) noexcept {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) noexcept = default;

   private:
    const StackTableEntry* stack_ = nullptr;
    std::uint32_t at_ = 0;
  };

  constexpr StackFrames() noexcept = default;
  explicit StackFrames(const StackTableEntry* stack) noexcept : stack_(stack) {}

  [[nodiscard]] std::size_t size() const noexcept { return stack_ == nullptr ? 0 : stack_->depth; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] Iterator begin() const noexcept { return Iterator(empty() ? nullptr : stack_); }
  [[nodiscard]] Iterator end() const noexcept { return {}; }

  /// Takes time linear in `index / kPartFrames`. Precondition: `index < size()`.
  std::uintptr_t operator[](std::size_t index) const noexcept {
    const StackTableEntry* stack = stack_;
    for (; index >= stack->own(); stack = stack->outer) index -= stack->own();
    return stack->frames()[index];
  }

 private:
  const StackTableEntry* stack_ = nullptr;
};

}  // namespace alloctap
