/// The opening members of a report of schema alloctap.heap/1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/version.hpp"

namespace alloctap {

/// Writes the members from `program` to `totals`: program, backend, data quality, sampling, sums.
/// The report and the builder must outlive it.
class JsonOpening {
 public:
  JsonOpening(const Report& report, JsonBuilder& json) : report_(report), json_(json) {}

  void write() {
    write_program();
    write_backend();
    write_account();
    write_sampling();
    write_totals();
  }

 private:
  void write_program() {
    json_.key("program");
    json_.begin_object();
    json_.number("pid", static_cast<std::uint64_t>(report_.program.pid));
    json_.text("executable", report_.program.executable);
    write_arguments(report_.program.command);
    json_.key("time_ns");
    json_.value(report_.snapshot.time_ns);
    json_.end_object();
  }

  /// Splits `command` at '\0', a separator: an empty argument follows a final '\0'.
  void write_arguments(std::string_view command) {
    json_.key("arguments");
    json_.begin_array();
    for (bool more = !command.empty(); more;) {
      const std::size_t end = command.find('\0');
      json_.string(command.substr(0, end));
      more = end != command.npos;
      command.remove_prefix(more ? end + 1 : command.size());
    }
    json_.end_array();
  }

  void write_backend() {
    json_.key("backend");
    json_.begin_object();
    json_.text("alloctap", kVersionString);
    json_.text("hook", report_.backend.hook);
    json_.text("stack", report_.backend.stack);
    json_.number("max_frames", report_.backend.max_frames);
    json_.text("symbolizer", report_.backend.symbolizer);
    json_.text("unseen", report_.backend.blind_spots);
    json_.end_object();
  }

  void write_account() {
    const DataQuality& account = report_.snapshot.account;
    json_.key("account");
    json_.begin_object();
    json_.number("events", account.events);
    json_.number("dropped", account.dropped);
    json_.key("unmatched_frees");
    json_.value_or_null(account.unmatched_frees);
    json_.number("unseen_frees", account.unseen_frees);
    json_.number("failed_unwinds", account.failed_unwinds);
    json_.number("frame_pointer_unwinds", account.frame_pointer_unwinds);
    json_.number("truncated_stacks", account.truncated_stacks);
    json_.number("tracker_bytes", account.tracker_bytes);
    json_.number("pauses", account.pauses);
    json_.number("unlogged_events", account.unlogged_events);
    json_.key("consistent");
    json_.value(account.consistent);
    json_.end_object();
  }

  void write_sampling() {
    const SamplingSummary& sampling = report_.snapshot.sampling;
    const SamplingDescription& policy = sampling.policy;
    json_.key("sampling");
    json_.begin_object();
    json_.text("policy", policy.name);
    json_.key("exact");
    json_.value(sampling.exact);
    json_.key("mean_bytes");
    json_.value_unless(policy.mean_bytes, 0);
    json_.key("min_bytes");
    json_.value_unless(policy.min_bytes, 0);
    json_.key("max_bytes");
    json_.value_unless(policy.max_bytes, UINT64_MAX);
    json_.number("live_samples", sampling.live_samples);
    json_.number("live_bytes_margin", sampling.live_bytes_margin);
    json_.end_object();
  }

  void write_totals() {
    const Totals& totals = report_.snapshot.totals;
    json_.key("totals");
    json_.begin_object();
    json_.number("allocations", totals.allocations);
    json_.number("deallocations", totals.deallocations);
    json_.number("allocated_bytes", totals.allocated_bytes);
    json_.number("live_allocations", totals.live_allocations);
    json_.number("live_bytes", totals.live_bytes);
    json_.number("peak_live_bytes", totals.peak_live_bytes);
    json_.number("temporary_allocations", totals.temporary_allocations);
    json_.end_object();
  }

  const Report& report_;
  JsonBuilder& json_;
};

}  // namespace alloctap
