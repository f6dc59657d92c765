/// A stack of made-up functions in memory of its own, and what is on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "alloctap/os/memory_map.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap::testing {

/// Made-up functions, by number. A call address tells the function and the place in it.
struct ModelFunctions {
  enum Kind : std::uint8_t {
    /// Frames of a fixed size.
    kFixed,
    /// The same, and the frame pointer is saved and used for a number.
    kFixedSaving,
    /// Found by the frame pointer.
    kByPointer,
    kOutermost,
    kWithoutTable,
  };

  static constexpr std::uintptr_t kBytes = 0x1000;
  /// Of each kind but the last two.
  static constexpr std::uintptr_t kVariants = 4;
  static constexpr std::uintptr_t kKinds = 3;

  static std::uintptr_t number(Kind kind, std::uintptr_t variant) {
    return 1 + variant * (kWithoutTable + 1) + kind;
  }
  static Kind kind_of(std::uintptr_t number) {
    return static_cast<Kind>((number - 1) % (kWithoutTable + 1));
  }
  /// Words of a frame of fixed size, its return address and saved frame pointer among them.
  static std::uintptr_t frame_words(std::uintptr_t number) { return 2 + number / 5; }

  static UnwindRule rule(std::uintptr_t number) {
    const auto bytes = static_cast<std::int32_t>(frame_words(number) * sizeof(std::uintptr_t));
    using Rule = UnwindRule::Kind;
    switch (kind_of(number)) {
      case kFixed:
        return {.cfa_offset = bytes, .return_slot = -1, .kind = Rule::kFromStackPointer};
      case kFixedSaving:
        return {
            .cfa_offset = bytes, .fp_slot = -2, .return_slot = -1, .kind = Rule::kFromStackPointer};
      case kByPointer:
        return {
            .cfa_offset = 16, .fp_slot = -2, .return_slot = -1, .kind = Rule::kFromFramePointer};
      case kOutermost:
        return {.kind = Rule::kOutermost};
      case kWithoutTable:
        break;
    }
    return {};
  }
};

/// What `ChainWalk` asks for.
struct ModelRules {
  static constexpr bool kPointerDecides = false;
  [[nodiscard]] UnwindRule find(const UnwindFrame& frame) const noexcept {
    ++*asked;
    const std::uintptr_t number = frame.call_address() / ModelFunctions::kBytes;
    const bool has_none = without_tables && is_by_pointer(number);
    return has_none ? UnwindRule{} : ModelFunctions::rule(number);
  }
  [[nodiscard]] bool is_code(std::uintptr_t address) const noexcept {
    return without_tables && is_by_pointer(address / ModelFunctions::kBytes);
  }

  static bool is_by_pointer(std::uintptr_t number) noexcept {
    return ModelFunctions::kind_of(number) == ModelFunctions::kByPointer;
  }

  /// How many frames were walked over, by all copies of these.
  std::size_t* asked;
  /// Functions found by their frame pointer have no table.
  bool without_tables = false;
};

/// Calls and returns write what real ones would, and leave behind what real ones do.
class StackModel {
 public:
  /// The return address of an outermost function that has one is 0.
  explicit StackModel(std::uint64_t seed, ModelFunctions::Kind outermost)
      : numbers_(seed), words_(kWords, 0x5A5A) {
    const std::uintptr_t sp = bounds().high - 64;
    frames_.push_back({.pc = 0, .sp = sp, .fp = sp});
    if (outermost < ModelFunctions::kOutermost) word_at(outermost_return_place()) = 0;
    functions_.push_back(ModelFunctions::number(outermost, 0));
    move_on();
  }

  [[nodiscard]] os::StackBounds bounds() const {
    const auto low = reinterpret_cast<std::uintptr_t>(words_.data());
    return {.low = low, .high = low + words_.size() * sizeof words_[0]};
  }
  /// Where an outermost function of any kind but the last two returns to; below lies the frame
  /// pointer that it saved.
  [[nodiscard]] std::uintptr_t outermost_return_place() const { return bounds().high - 56; }
  [[nodiscard]] std::size_t depth() const { return frames_.size(); }
  [[nodiscard]] const UnwindFrame& leaf() const { return frames_.back(); }

  /// The return addresses, leaf first.
  [[nodiscard]] std::vector<std::uintptr_t> truth() const {
    std::vector<std::uintptr_t> pcs;
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) pcs.push_back(frame->pc);
    return pcs;
  }

  /// The innermost function comes to another place, from which it calls.
  void move_on() { frames_.back().pc = functions_.back() * ModelFunctions::kBytes + 1 + below(3); }

  void call() {
    const auto kind = static_cast<ModelFunctions::Kind>(below(ModelFunctions::kKinds));
    const auto number = ModelFunctions::number(kind, below(ModelFunctions::kVariants));
    const UnwindFrame caller = frames_.back();
    UnwindFrame callee{.sp = caller.sp - ModelFunctions::frame_words(number) * 8, .fp = caller.fp};
    word_at(caller.sp - 8) = caller.pc;
    if (kind != ModelFunctions::kFixed) word_at(caller.sp - 16) = caller.fp;
    if (kind == ModelFunctions::kFixedSaving) callee.fp = below(3);
    if (kind == ModelFunctions::kByPointer) {
      callee.fp = caller.sp - 16;
      callee.sp = callee.fp - below(6) * 8;
    }
    frames_.push_back(callee);
    functions_.push_back(number);
    move_on();
  }

  void leave(std::size_t calls) {
    frames_.resize(frames_.size() - calls);
    functions_.resize(frames_.size());
    move_on();
  }

  /// A random number below `end`.
  std::uintptr_t below(std::uintptr_t end) { return numbers_() % end; }
  bool has_room() const { return leaf().sp > bounds().low + 512; }

  std::uintptr_t& word_at(std::uintptr_t address) {
    return words_[(address - bounds().low) / sizeof(std::uintptr_t)];
  }

 private:
  static constexpr std::size_t kWords = 1500;

  std::mt19937_64 numbers_;
  std::vector<std::uintptr_t> words_;
  /// Outermost first.
  std::vector<UnwindFrame> frames_;
  std::vector<std::uintptr_t> functions_;
};

}  // namespace alloctap::testing
