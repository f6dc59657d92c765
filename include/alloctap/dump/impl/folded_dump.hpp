/// Definitions for dump/folded_dump.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/export/frame_labels.hpp"
#include "alloctap/dump/export/stack_weights.hpp"
#include "alloctap/dump/folded_dump.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Implements `FoldedDump::write`. The base class is a copy of the options.
class FoldedDumpWriter : public FoldedDump {
 public:
  explicit FoldedDumpWriter(const FoldedDump& options) noexcept : FoldedDump(options) {}

  void write_report(const Report& report, DumpWriter& out) const {
    const FrameLabels labels(report);
    const OwnerLabels owners(report.snapshot);
    if (!labels.complete() || !owners.complete())
      return out.fail("folded: the system has no memory for frames");
    std::size_t next_before = 0;
    for (const StackSummary& stack : report.snapshot.stacks) {
      const std::uint64_t now = count_of(stack, count);
      const std::uint64_t then = count_before(stack.stack, next_before);
      if (now == 0 && then == 0) continue;
      write_stack(labels, owners.tag(stack.stack), stack.stack, out);
      if (before != nullptr) out << ' ' << then;
      out << ' ' << now << '\n';
    }
    if (before != nullptr && next_before < before->stacks.size()) {
      out.fail("folded: the snapshot to compare with is not an earlier one of the same tracker");
    }
  }

 private:
  /// Returns the count of `stack` in `before`. Requires calls in ascending order of stack ids.
  std::uint64_t count_before(StackId stack, std::size_t& next) const noexcept {
    if (before == nullptr || next == before->stacks.size()) return 0;
    const StackSummary& candidate = before->stacks[next];
    if (candidate.stack != stack) return 0;
    ++next;
    return count_of(candidate, count);
  }

  static void write_stack(const FrameLabels& labels, std::string_view tag, StackId stack,
                          DumpWriter& out) {
    bool first = tag.empty();
    write_name(tag, out);
    labels.visit_root_first(stack, [&](const LabelledFrame& frame) {
      if (!first) out << ';';
      first = false;
      write_name(frame.label, out);
    });
  }

  /// Writes a name. Replaces characters that would end the frame or the line.
  static void write_name(std::string_view name, DumpWriter& out) {
    constexpr std::string_view kSpecial = ";\n\r";
    for (std::size_t end = name.find_first_of(kSpecial); end != name.npos;
         end = name.find_first_of(kSpecial)) {
      out << name.substr(0, end) << (name[end] == ';' ? ':' : ' ');
      name.remove_prefix(end + 1);
    }
    out << name;
  }
};

ALLOCTAP_INLINE void FoldedDump::write(const Report& report, DumpWriter& out) const {
  FoldedDumpWriter(*this).write_report(report, out);
}

static_assert(DumpPolicy<FoldedDump>);

}  // namespace alloctap
