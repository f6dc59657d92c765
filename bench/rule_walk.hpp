/// A walk by our rules that keeps nothing of the last capture.
#pragma once

#include <alloctap/runtime/per_thread.hpp>
#include <alloctap/stack/chain_capture.hpp>
#include <alloctap/stack/thread_stacks.hpp>
#include <alloctap/stack/unwind_step.hpp>
#include <alloctap/stack/unwind_table_stack.hpp>
#include <cstdint>

namespace alloctap::bench {

/// What `UnwindTableStack` would be without its verified chain and its memory of known stacks: the
/// rule of each frame is looked up, and followed. In the shape of our policies, without their care.
struct RuleWalk {
  static constexpr std::string_view name = "unwind-table_rules_alone";

  static CapturedStack capture(ThreadState& thread, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept {
    Memory* memory = PerThread<Memory>::of(thread);
    if (memory == nullptr) return {.failed = true};
    NotedFrame at;
    at.frame = calling_frame<false>(origin);
    const StackChain* stack = memory->stacks.find(thread, at.frame.sp);
    if (stack == nullptr) return {.failed = true};
    return walk(TableRules(memory->rules, TableRules::current_epoch()), stack->bounds.high, at,
                frames);
  }

 private:
  struct Memory {
    ThreadStacks stacks;
    TableRules::Cache rules;
  };

  static CapturedStack walk(const TableRules& rules, std::uintptr_t high, NotedFrame& at,
                            std::span<std::uintptr_t> frames) noexcept {
    const LiveStack live(at.frame.sp, high);
    CapturedStack stack;
    while (stack.depth < frames.size()) {
      frames[stack.depth++] = at.frame.pc;
      const UnwindFrame inner = at.frame;
      const UnwindOutcome outcome = step_outwards(inner, rules.find(inner), at, live);
      if (outcome != UnwindOutcome::kCaller || at.frame.sp <= inner.sp) break;
    }
    return stack;
  }
};

}  // namespace alloctap::bench
