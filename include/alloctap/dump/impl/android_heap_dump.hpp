/// Definitions for dump/android_heap_dump.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/android_heap_dump.hpp"
#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/export/frame_labels.hpp"
#include "alloctap/dump/export/stack_weights.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// Implements `AndroidHeapDump::write`. The base class is a copy of the options.
class AndroidHeapDumpWriter : public AndroidHeapDump {
 public:
  explicit AndroidHeapDumpWriter(const AndroidHeapDump& options) noexcept
      : AndroidHeapDump(options) {}

  void write_report(const Report& report, DumpWriter& out) const {
    const FrameLabels labels(report);
    const SizeRecords sizes(report.snapshot);
    if (!labels.complete() || !sizes.complete()) {
      return out.fail("android: the system has no memory for its records");
    }
    write_head(report, sizes, out);
    for (const SizeRecord& record : sizes.records()) write_record(report, labels, record, out);
    write_map(report, out);
  }

 private:
  static void write_head(const Report& report, const SizeRecords& sizes, DumpWriter& out) {
    std::uint64_t total = 0;
    for (const SizeRecord& record : sizes.records()) total += record.size * record.count;
    // bionic also writes 'unknown' if it does not know the fingerprint.
    out << "Android Native Heap Dump v1.2\n\nBuild fingerprint: 'unknown'\n\nTotal memory: "
        << total << "\nAllocation records: " << sizes.records().size()
        << "\nBacktrace size: " << report.backend.max_frames << "\n\n";
  }

  /// Writes a record. "z 1" marks memory that the application allocated, not its zygote.
  void write_record(const Report& report, const FrameLabels& labels, const SizeRecord& record,
                    DumpWriter& out) const {
    out << "z 1  sz " << record.size << "  num " << record.count << "  bt";
    const auto frames = report.snapshot.table->frames(record.stack);
    if (frames.empty()) return static_cast<void>(out << " 0\n");
    for (const std::uintptr_t frame : frames) (out << ' ').hex_digits(call_address(frame));
    out << '\n';
    if (!names) return;
    out << "  bt_info";
    for (const std::uintptr_t frame : frames) {
      write_place(labels, labels.list().index_of(record.stack, frame), out);
    }
    out << '\n';
  }

  /// Writes {"path" address "function" offset} for frame number `index`.
  static void write_place(const FrameLabels& labels, std::size_t index, DumpWriter& out) {
    const auto [address, module] = labels.list().place(index);
    const auto source = labels.list().source(index);
    out << " {\"";
    if (module != nullptr) write_text(module->path, out);
    out << "\" ";
    out.hex_digits(module == nullptr ? address : address - module->bias);
    out << " \"";
    if (!source.empty()) write_text(source.back().function, out);
    out << "\" 0}";
  }

  /// Writes `text`. Replaces characters that would end the string or the line.
  static void write_text(std::string_view text, DumpWriter& out) {
    for (const char character : text) {
      const bool control = static_cast<unsigned char>(character) < 0x20;
      out << (character == '"' ? '\'' : control ? ' ' : character);
    }
  }

  /// Writes lines of proc(5)'s maps. Omits unloaded modules, whose addresses may be reused.
  static void write_map(const Report& report, DumpWriter& out) {
    out << "MAPS\n";
    for (const Module& module : report.modules.loaded()) {
      out.hex_digits(module.start) << '-';
      out.hex_digits(module.end) << " r-xp 00000000 00:00 0    ";
      write_text(module.path, out);
      out << '\n';
    }
    out << "END\n";
  }
};

ALLOCTAP_INLINE void AndroidHeapDump::write(const Report& report, DumpWriter& out) const {
  AndroidHeapDumpWriter(*this).write_report(report, out);
}

static_assert(DumpPolicy<AndroidHeapDump>);

}  // namespace alloctap
