/// What a seccomp filter says of a system call, without making the call.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace alloctap::run {

/// An interpreter of classic BPF as seccomp(2) has it. Allocates nothing.
class SeccompFilter {
 public:
  /// `instructions` outlive this, and are what the kernel accepts.
  explicit SeccompFilter(std::span<const sock_filter> instructions) noexcept
      : instructions_(instructions) {}

  /// Returns whether the call takes place as if there were no filter.
  [[nodiscard]] bool allows(const seccomp_data& call) noexcept {
    const std::uint32_t action = run(call) & SECCOMP_RET_ACTION_FULL;
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
  }

 private:
  static constexpr std::uint32_t operation_of(const sock_filter& at) noexcept {
    return BPF_OP(at.code);
  }

  /// A program that ends in no return kills, as does an instruction that is unknown here.
  std::uint32_t run(const seccomp_data& call) noexcept {
    a_ = x_ = 0;
    for (std::size_t at = 0; at < instructions_.size(); ++at) {
      const sock_filter& instruction = instructions_[at];
      if (BPF_CLASS(instruction.code) == BPF_RET) {
        return BPF_RVAL(instruction.code) == BPF_A ? a_ : instruction.k;
      }
      if (BPF_CLASS(instruction.code) == BPF_JMP) {
        at += jump(instruction);
      } else {
        step(instruction, call);
      }
    }
    return SECCOMP_RET_KILL_PROCESS;
  }

  void step(const sock_filter& at, const seccomp_data& call) noexcept {
    switch (BPF_CLASS(at.code)) {
      case BPF_LD:
        a_ = load(at, call);
        return;
      case BPF_LDX:
        x_ = load(at, call);
        return;
      case BPF_ST:
        words_[at.k % BPF_MEMWORDS] = a_;
        return;
      case BPF_STX:
        words_[at.k % BPF_MEMWORDS] = x_;
        return;
      case BPF_ALU:
        a_ = calculate(at);
        return;
      default:
        (BPF_MISCOP(at.code) == BPF_TAX ? x_ : a_) = BPF_MISCOP(at.code) == BPF_TAX ? a_ : x_;
    }
  }

  [[nodiscard]] std::uint32_t load(const sock_filter& at, const seccomp_data& call) const noexcept {
    switch (BPF_MODE(at.code)) {
      case BPF_IMM:
        return at.k;
      case BPF_MEM:
        return words_[at.k % BPF_MEMWORDS];
      case BPF_ABS: {
        std::uint32_t word = 0;
        if (at.k > sizeof call - sizeof word) return 0;
        std::memcpy(&word, reinterpret_cast<const char*>(&call) + at.k, sizeof word);
        return word;
      }
      default:
        return sizeof call;
    }
  }

  [[nodiscard]] std::uint32_t operand(const sock_filter& at) const noexcept {
    return BPF_SRC(at.code) == BPF_X ? x_ : at.k;
  }

  [[nodiscard]] std::uint32_t calculate(const sock_filter& at) const noexcept {
    const std::uint32_t value = operand(at);
    switch (operation_of(at)) {
      case BPF_ADD:
        return a_ + value;
      case BPF_SUB:
        return a_ - value;
      case BPF_MUL:
        return a_ * value;
      case BPF_DIV:
        return value == 0 ? 0 : a_ / value;
      case BPF_OR:
        return a_ | value;
      case BPF_AND:
        return a_ & value;
      case BPF_XOR:
        return a_ ^ value;
      case BPF_LSH:
        return value < 32 ? a_ << value : 0;
      case BPF_RSH:
        return value < 32 ? a_ >> value : 0;
      default:
        return -a_;
    }
  }

  /// Returns how many instructions are jumped over.
  [[nodiscard]] std::size_t jump(const sock_filter& at) const noexcept {
    const std::uint32_t value = operand(at);
    switch (operation_of(at)) {
      case BPF_JA:
        return at.k;
      case BPF_JEQ:
        return a_ == value ? at.jt : at.jf;
      case BPF_JGT:
        return a_ > value ? at.jt : at.jf;
      case BPF_JGE:
        return a_ >= value ? at.jt : at.jf;
      default:
        return (a_ & value) != 0 ? at.jt : at.jf;
    }
  }

  std::span<const sock_filter> instructions_;
  std::uint32_t a_ = 0;
  std::uint32_t x_ = 0;
  std::array<std::uint32_t, BPF_MEMWORDS> words_{};
};

}  // namespace alloctap::run
