/// Definitions for dump/matrix_log_dump.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/export/data_quality_text.hpp"
#include "alloctap/dump/export/frame_labels.hpp"
#include "alloctap/dump/export/stack_weights.hpp"
#include "alloctap/dump/matrix_log_dump.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// Implements `MatrixLogDump::write`.
class MatrixLogWriting {
 public:
  MatrixLogWriting(const MatrixLogDump& options, const Report& report, DumpWriter& out)
      : options_(options),
        report_(report),
        out_(out),
        labels_(report),
        sizes_(report.snapshot),
        blocks_(report, report.snapshot.stacks),
        mappings_(report, report.snapshot.mappings),
        account_(report) {}

  void write() {
    if (!labels_.complete() || !sizes_.complete() || !blocks_.complete() || !mappings_.complete() ||
        !account_.complete()) {
      return out_.fail("matrix-log: the system has no memory for modules");
    }
    write_modules(blocks_, true);
    write_stacks(blocks_);
    out_ << "############################# mmap #############################\n\n";
    write_modules(mappings_, false);
    write_stacks(mappings_);
    out_ << "\n\n" << kRule;
    account_.for_each([this](std::string_view line) { out_ << "| " << line << '\n'; });
    out_ << "| " << report_.snapshot.account.tracker_bytes << " b mapped by the tracker\n" << kRule;
  }

 private:
  static constexpr std::string_view kRule = "---------------------------------------------------\n";

  /// Writes `bytes`, right-aligned in ten characters.
  void write_bytes(std::uint64_t bytes) {
    std::array<char, 24> digits{};
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes).ptr;
    out_.right({digits.data(), static_cast<std::size_t>(end - digits.data())}, 10) << " b";
  }

  void write_modules(const ModuleStacks& memory, bool with_sizes) {
    if (memory.stacks().empty()) return;
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
    out_ << "dump_callers: count = " << memory.stacks().size() << '\n';
    for (const HoldingModule& module : memory.modules()) {
      out_ << "caller alloc size = ";
      write_bytes(module.bytes);
      out_ << ", so = " << module.name() << '\n';
      if (with_sizes) write_sizes(memory.stacks_of(module));
      bytes += module.bytes;
      count += module.count;
    }
    out_ << '\n'
         << kRule << "| caller total size = " << bytes << " b, ptr totals counts = " << count
         << ".\n"
         << kRule << '\n';
  }

  void write_sizes(std::span<const HoldingStack> stacks) {
    SizeCounts sizes;
    for (const HoldingStack& stack : stacks) {
      for (const SizeRecord& record : sizes_.of(stack.stack)) {
        if (!sizes.add(record.size, record.count)) {
          return out_.fail("matrix-log: the system has no memory for sizes");
        }
      }
    }
    out_ << "top " << options_.most_sizes << " (size * count):\n";
    for (const SizeRecord& record : sizes.most_bytes_first(options_.most_sizes)) {
      out_ << "   size = ";
      write_bytes(record.size);
      out_ << ", count = " << record.count << '\n';
    }
  }

  void write_stacks(const ModuleStacks& memory) {
    if (memory.stacks().empty()) return;
    std::size_t frames = 0;
    for (const HoldingStack& stack : memory.stacks()) {
      frames += report_.snapshot.table->frames(stack.stack).size();
    }
    out_ << "dump_stacks: hash count = " << memory.stacks().size()
         << "\ndump_stacks: backtrace frame counts = " << frames << '\n';
    for (const HoldingModule& module : memory.modules()) {
      out_ << "\nmalloc size of so (" << module.name() << ") : remaining size = " << module.bytes
           << '\n';
      if (module.bytes < options_.least_bytes) {
        out_ << "skip printing stacktrace for size less than " << options_.least_bytes << '\n';
        continue;
      }
      for (const HoldingStack& stack : memory.stacks_of(module)) write_stack(stack);
    }
  }

  void write_stack(const HoldingStack& stack) {
    out_ << "malloc size of the same stack = " << stack.bytes << "\n stacktrace : \n";
    labels_.visit_leaf_first(stack.stack, [this](const LabelledFrame& frame) {
      if (frame.place == LabelledFrame::kNoPlace) {
        out_ << "      | " << frame.label << '\n';
        return;
      }
      const auto [address, module] = labels_.list().place(frame.place);
      out_ << "      | #pc ";
      out_.hex_digits(module == nullptr ? address : address - module->bias) << ' ' << frame.label;
      out_ << " (" << HoldingModule{.module = module}.name() << ")\n";
    });
    out_ << '\n';
  }

  const MatrixLogDump& options_;
  const Report& report_;
  DumpWriter& out_;
  FrameLabels labels_;
  SizeRecords sizes_;
  ModuleStacks blocks_;
  ModuleStacks mappings_;
  AccountList account_;
};

ALLOCTAP_INLINE void MatrixLogDump::write(const Report& report, DumpWriter& out) const {
  MatrixLogWriting(*this, report, out).write();
}

static_assert(DumpPolicy<MatrixLogDump>);

}  // namespace alloctap
