/// A stack as a stack table keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"

namespace alloctap {

/// The innermost frames of a stack, leaf first, behind this header; those outside belong to
/// `outer`, which other stacks share. Never changes.
struct StackTableEntry {
  StackHash hash;
  const StackTableEntry* outer = nullptr;
  /// Nobody of a part that stacks share.
  StackOwner owner;
  /// Frames in all.
  std::uint32_t depth = 0;

  /// Stacks are cut every so many frames, counted from the outermost.
  static constexpr std::uint32_t kPartFrames = 8;

  /// How many frames are kept here: those inside of the innermost cut.
  [[nodiscard]] std::uint32_t own() const noexcept {
    return depth == 0 ? 0 : (depth - 1) % kPartFrames + 1;
  }

  [[nodiscard]] const std::uintptr_t* frames() const noexcept {
    return reinterpret_cast<const std::uintptr_t*>(this + 1);
  }
};

/// The frames of a kept stack, leaf first; cheap to copy, valid for as long as the table.
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

  /// Precondition: `index < size()`. Takes a step for each few frames.
  std::uintptr_t operator[](std::size_t index) const noexcept {
    const StackTableEntry* stack = stack_;
    for (; index >= stack->own(); stack = stack->outer) index -= stack->own();
    return stack->frames()[index];
  }

 private:
  const StackTableEntry* stack_ = nullptr;
};

}  // namespace alloctap
