/// Definitions for dump/pprof_dump.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/export/data_quality_text.hpp"
#include "alloctap/dump/export/frame_labels.hpp"
#include "alloctap/dump/export/pprof_profile.hpp"
#include "alloctap/dump/export/stack_weights.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/dump/pprof_dump.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// Implements `PprofDump::write`.
class PprofWriting {
 public:
  PprofWriting(const Report& report, DumpWriter& out)
      : report_(report),
        out_(out),
        labels_(report),
        sizes_(report.snapshot),
        owners_(report.snapshot),
        account_(report),
        stream_(out) {}

  void write() {
    if (!labels_.complete() || !sizes_.complete() || !owners_.complete()) {
      return out_.fail("pprof: the system has no memory for frames");
    }
    write_types();
    for (const StackSummary& stack : report_.snapshot.stacks) write_stack(stack);
    code_.write();
    write_comments();
    stream_.finish();
  }

 private:
  void write_type(pprof::Profile field, std::string_view type, std::string_view unit) {
    stream_.add_message<pprof::ValueType>(field, [&](auto& message) {
      message.add_int64(pprof::ValueType::kType, stream_.text(type));
      message.add_int64(pprof::ValueType::kUnit, stream_.text(unit));
    });
  }

  /// Writes sample types and the period: the mean sampling interval, or 1 if not sampled by bytes.
  void write_types() {
    write_type(pprof::Profile::kSampleType, "alloc_objects", "count");
    write_type(pprof::Profile::kSampleType, "alloc_space", "bytes");
    write_type(pprof::Profile::kSampleType, "inuse_objects", "count");
    write_type(pprof::Profile::kSampleType, "inuse_space", "bytes");
    stream_.add_number(pprof::Profile::kDefaultSampleType, stream_.text("inuse_space"));
    write_type(pprof::Profile::kPeriodType, "space", "bytes");
    const std::uint64_t mean = report_.snapshot.sampling.policy.mean_bytes;
    stream_.add_number(pprof::Profile::kPeriod, mean == 0 ? 1 : static_cast<std::int64_t>(mean));
    stream_.add_number(pprof::Profile::kTimeNanos, report_.snapshot.time_ns);
  }

  /// The values of a sample: allocations, allocated bytes, live allocations, live bytes.
  using Values = std::array<std::uint64_t, 4>;

  void write_stack(const StackSummary& stack) {
    locate(stack);
    const AllocationTotals& total = stack.total;
    if (!sizes_.exact()) {
      return write_sample(
          {total.allocations, total.allocated_bytes, stack.live_allocations, stack.live_bytes});
    }
    for (const SizeRecord& live : sizes_.of(stack.stack)) {
      const std::uint64_t bytes = live.count * live.size;
      write_sample({live.count, bytes, live.count, bytes}, live.size);
    }
    const Values rest{total.allocations - std::min(total.allocations, stack.live_allocations),
                      total.allocated_bytes - std::min(total.allocated_bytes, stack.live_bytes), 0,
                      0};
    if (rest != Values{}) write_sample(rest);
  }

  void locate(const StackSummary& stack) {
    tag_ = owners_.tag(stack.stack);
    thread_ = owners_.thread(stack.stack);
    locations_.clear();
    labels_.visit_leaf_first(stack.stack, [&](const LabelledFrame& frame) {
      if (frame.inlined) return;
      if (!locations_.push_back(code_.location_of(frame, stack.stack))) stream_.fail();
    });
  }

  void write_sample(const Values& values, std::optional<std::uint64_t> size = {}) {
    stream_.add_message<pprof::Sample>(pprof::Profile::kSample, [&](auto& sample) {
      sample.add_packed_uint64(pprof::Sample::kLocationId, locations_.begin(), locations_.end());
      sample.add_packed_int64(pprof::Sample::kValue, values.begin(), values.end());
      if (size) write_size(sample, *size);
      if (!tag_.empty()) write_text(sample, "tag", tag_);
      if (!thread_.empty()) write_text(sample, "thread", thread_);
    });
  }

  void write_text(pprof::Builder<pprof::Sample>& sample, std::string_view key,
                  std::string_view text) {
    const std::int64_t key_number = stream_.text(key);
    const std::int64_t text_number = stream_.text(text);
    pprof::Builder<pprof::Label> label(sample, pprof::Sample::kLabel);
    label.add_int64(pprof::Label::kKey, key_number);
    label.add_int64(pprof::Label::kText, text_number);
  }

  void write_size(pprof::Builder<pprof::Sample>& sample, std::uint64_t size) {
    const std::int64_t bytes = stream_.text("bytes");
    pprof::Builder<pprof::Label> label(sample, pprof::Sample::kLabel);
    label.add_int64(pprof::Label::kKey, bytes);
    label.add_int64(pprof::Label::kNumber, static_cast<std::int64_t>(size));
    label.add_int64(pprof::Label::kUnit, bytes);
  }

  void write_comments() {
    if (!account_.complete()) stream_.fail();
    account_.for_each([this](std::string_view line) {
      stream_.add_number(pprof::Profile::kComment, stream_.text(line));
    });
  }

  const Report& report_;
  DumpWriter& out_;
  FrameLabels labels_;
  SizeRecords sizes_;
  OwnerLabels owners_;
  /// Must be declared before `stream_`, which refers to its strings.
  AccountList account_;
  pprof::Stream stream_;
  pprof::Code code_{report_, labels_, stream_};
  /// The locations, tag and thread of the stack that is being written.
  ArenaArray<std::uint64_t> locations_;
  std::string_view tag_;
  std::string_view thread_;
};

ALLOCTAP_INLINE void PprofDump::write(const Report& report, DumpWriter& out) const {
  PprofWriting(report, out).write();
}

static_assert(DumpPolicy<PprofDump>);

}  // namespace alloctap
