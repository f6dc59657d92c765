/// A report for programs: schema alloctap.heap/1, described in README.md beside this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/frame_list.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/json_history.hpp"
#include "alloctap/dump/json_opening.hpp"

namespace alloctap {

/// Every stack, every frame with its name where it is known, every module. Needs RapidJSON: target
/// alloctap::json_dump.
struct JsonDump {
  void write(const Report& report, DumpWriter& out) const { Writing(report, out).write(); }

 private:
  class Writing {
   public:
    Writing(const Report& report, DumpWriter& out) : report_(report), out_(out), json_(out) {}

    void write() {
      const FrameList frames(report_);
      if (!frames.complete()) return out_.fail("json: the system has no memory for frames");
      json_.begin_object();
      json_.text("schema", "alloctap.heap/1");
      JsonOpening(report_, json_).write();
      write_mappings(frames);
      write_threads();
      write_modules();
      write_frames(frames);
      write_stacks(frames);
      write_sizes();
      write_history(frames);
      json_.end_object();
      out_ << '\n';
    }

   private:
    void write_mappings(const FrameList& frames) {
      const MappingTotals& totals = report_.snapshot.mapping_totals;
      json_.key("mappings");
      json_.begin_object();
      json_.number("mappings", totals.mappings);
      json_.number("unmappings", totals.unmappings);
      json_.number("mapped_bytes", totals.mapped_bytes);
      json_.number("live_mappings", totals.live_mappings);
      json_.number("live_bytes", totals.live_bytes);
      json_.number("peak_live_bytes", totals.peak_live_bytes);
      json_.key("stacks");
      json_.begin_array();
      for (const MappingSummary& mapping : report_.snapshot.mappings) {
        json_.begin_object();
        write_frame_indices(mapping.stack, frames);
        json_.number("live_mappings", mapping.live_mappings);
        json_.number("live_bytes", mapping.live_bytes);
        json_.end_object();
      }
      json_.end_array();
      json_.end_object();
    }

    void write_threads() {
      json_.key("threads");
      json_.begin_array();
      for (const ThreadSummary& thread : report_.snapshot.threads) {
        json_.begin_object();
        json_.number("id", static_cast<std::uint64_t>(thread.thread_id));
        json_.key("name");
        json_.string_or_null(thread.name());
        json_.key("alive");
        json_.value(thread.alive);
        json_.number("threads", thread.threads);
        json_.number("allocations", thread.total.allocations);
        json_.number("allocated_bytes", thread.total.allocated_bytes);
        json_.number("temporary_allocations", thread.total.temporary_allocations);
        json_.number("deallocations", thread.deallocations);
        json_.key("net_bytes");
        json_.value(thread.net_bytes);
        json_.end_object();
      }
      json_.end_array();
    }

    void write_modules() {
      json_.key("modules");
      json_.begin_array();
      for (const Module& module : report_.modules.modules()) {
        json_.begin_object();
        json_.text("path", module.path);
        json_.key("build_id");
        write_build_id(module);
        json_.number("start", module.start);
        json_.number("end", module.end);
        json_.number("bias", module.bias);
        json_.key("unloaded");
        json_.value(module.is_unloaded());
        json_.end_object();
      }
      json_.end_array();
    }

    void write_build_id(const Module& module) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      char digits[2 * sizeof module.build_id];
      for (std::size_t i = 0; i < module.build_id_bytes; ++i) {
        const auto byte = std::to_integer<unsigned>(module.build_id[i]);
        digits[2 * i] = kDigits[byte >> 4];
        digits[2 * i + 1] = kDigits[byte & 15];
      }
      json_.string_or_null({digits, 2 * module.build_id_bytes});
    }

    void write_frames(const FrameList& frames) {
      json_.key("frames");
      json_.begin_array();
      for (std::size_t i = 0; i < frames.size(); ++i) {
        json_.begin_object();
        json_.number("address", frames.return_address(i));
        write_source(frames.source(i));
        write_module(frames.place(i));
        json_.end_object();
      }
      json_.end_array();
    }

    /// What is inlined stands in a list of its own, so that readers who do not know of it see the
    /// function that has the code.
    void write_source(std::span<const SourceFrame> source) {
      const SourceFrame real = source.empty() ? SourceFrame() : source.back();
      write_place(real);
      json_.key("inlined");
      json_.begin_array();
      for (std::size_t i = 0; i + 1 < source.size(); ++i) {
        json_.begin_object();
        write_place(source[i]);
        json_.end_object();
      }
      json_.end_array();
    }

    void write_place(const SourceFrame& frame) {
      json_.key("function");
      json_.string_or_null(frame.function);
      json_.key("file");
      json_.string_or_null(frame.file);
      json_.key("line");
      json_.value_unless(frame.line, 0);
    }

    void write_module(const CodePlace& place) {
      json_.key("module");
      if (place.module == nullptr) {
        json_.null();
        json_.key("offset");
        json_.null();
      } else {
        json_.value(report_.modules.index_of(*place.module));
        json_.number("offset", place.address - place.module->bias);
      }
    }

    void write_stacks(const FrameList& frames) {
      json_.key("stacks");
      json_.begin_array();
      for (const StackSummary& stack : report_.snapshot.stacks) {
        json_.begin_object();
        write_frame_indices(stack.stack, frames);
        json_.key("outside_size_range");
        json_.value(stack.stack == kStackNotTaken);
        json_.number("allocations", stack.total.allocations);
        json_.number("allocated_bytes", stack.total.allocated_bytes);
        json_.number("live_allocations", stack.live_allocations);
        json_.number("live_bytes", stack.live_bytes);
        json_.number("temporary_allocations", stack.total.temporary_allocations);
        json_.end_object();
      }
      json_.end_array();
    }

    void write_sizes() {
      json_.key("sizes");
      json_.begin_array();
      for (std::size_t i = 0; i < kSizeClasses; ++i) {
        const SizeClass& blocks = report_.snapshot.sizes[i];
        if (blocks.live_allocations == 0) continue;
        json_.begin_object();
        json_.number("min_bytes", least_size(i));
        json_.number("max_bytes", greatest_size(i));
        json_.number("live_allocations", blocks.live_allocations);
        json_.number("live_bytes", blocks.live_bytes);
        json_.end_object();
      }
      json_.end_array();
    }

    void write_history(const FrameList& frames) {
      json_.key("timeline");
      write_timeline(json_, report_.snapshot.timeline);
      json_.key("markers");
      write_markers(json_, report_.snapshot.markers);
      json_.key("peak");
      write_peak(json_, report_.snapshot.peak,
                 [&](StackId stack) { write_frame_indices(stack, frames); });
    }

    void write_frame_indices(StackId stack, const FrameList& frames) {
      json_.key("frames");
      json_.begin_array();
      for (const std::uintptr_t frame : report_.snapshot.table->frames(stack)) {
        json_.value(frames.index_of(stack, frame));
      }
      json_.end_array();
    }

    const Report& report_;
    DumpWriter& out_;
    JsonBuilder json_;
  };
};

static_assert(DumpPolicy<JsonDump>);

}  // namespace alloctap
