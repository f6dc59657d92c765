/// A report for programs: schema alloctap.heap/1, described in README.md beside this file.
#pragma once

#include <rapidjson/allocators.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/frame_list.hpp"
#include "alloctap/dump/json_text.hpp"
#include "alloctap/version.hpp"

namespace alloctap {

/// Every stack, every frame with its name where it is known, every module. Needs RapidJSON: target
/// alloctap::json_dump.
struct JsonDump {
  void write(const Report& report, DumpWriter& out) const { Writing(report, out).write(); }

 private:
  /// What RapidJSON writes to.
  struct Stream {
    using Ch = char;
    DumpWriter& out;
    void Put(char character) { out << character; }
    void Flush() {}
  };

  /// RapidJSON keeps its nesting levels in this buffer and so never allocates from the host.
  using Levels = rapidjson::MemoryPoolAllocator<>;
  using Json = rapidjson::Writer<Stream, rapidjson::UTF8<>, rapidjson::UTF8<>, Levels>;

  class Writing {
   public:
    Writing(const Report& report, DumpWriter& out)
        : report_(report), stream_{out}, json_(stream_, &levels_, kDepth) {}

    void write() {
      const FrameList frames(report_.snapshot);
      if (!frames.complete()) return stream_.out.fail("json: the system has no memory for frames");
      json_.StartObject();
      text("schema", "alloctap.heap/1");
      write_program();
      write_backend();
      write_account();
      write_totals();
      write_mappings(frames);
      write_modules();
      write_frames(frames);
      write_stacks(frames);
      json_.EndObject();
      stream_.out << '\n';
    }

   private:
    static constexpr std::size_t kDepth = 16;

    void key(const char* name) { json_.Key(name); }

    void number(const char* name, std::uint64_t value) {
      key(name);
      json_.Uint64(value);
    }

    void text(const char* name, std::string_view value) {
      key(name);
      string(value);
    }

    void string(std::string_view value) {
      value = value.substr(0, kLongestText);
      const std::size_t length = copy_as_utf8(value, utf8_, sizeof utf8_);
      json_.String(utf8_, static_cast<rapidjson::SizeType>(length));
    }

    void string_or_null(std::string_view value) {
      if (value.empty()) {
        json_.Null();
      } else {
        string(value);
      }
    }

    void write_program() {
      key("program");
      json_.StartObject();
      number("pid", static_cast<std::uint64_t>(report_.program.pid));
      text("executable", report_.program.executable);
      key("arguments");
      json_.StartArray();
      for (std::string_view rest = report_.program.command; !rest.empty();) {
        const std::string_view argument = rest.substr(0, rest.find('\0'));
        string(argument);
        rest.remove_prefix(std::min(rest.size(), argument.size() + 1));
      }
      json_.EndArray();
      key("time_ns");
      json_.Int64(report_.snapshot.time_ns);
      json_.EndObject();
    }

    void write_backend() {
      key("backend");
      json_.StartObject();
      text("alloctap", kVersionString);
      text("hook", report_.backend.hook);
      text("stack", report_.backend.stack);
      number("max_frames", report_.backend.max_frames);
      text("symbolizer", report_.backend.symbolizer);
      text("unseen", report_.backend.blind_spots);
      json_.EndObject();
    }

    void write_account() {
      const Account& account = report_.snapshot.account;
      key("account");
      json_.StartObject();
      number("events", account.events);
      number("dropped", account.dropped);
      number("unmatched_frees", account.unmatched_frees);
      number("unseen_frees", account.unseen_frees);
      number("failed_unwinds", account.failed_unwinds);
      number("truncated_stacks", account.truncated_stacks);
      number("tracker_bytes", account.tracker_bytes);
      key("consistent");
      json_.Bool(account.consistent);
      json_.EndObject();
    }

    void write_totals() {
      const Totals& totals = report_.snapshot.totals;
      key("totals");
      json_.StartObject();
      number("allocations", totals.allocations);
      number("deallocations", totals.deallocations);
      number("allocated_bytes", totals.allocated_bytes);
      number("live_allocations", totals.live_allocations);
      number("live_bytes", totals.live_bytes);
      number("peak_live_bytes", totals.peak_live_bytes);
      number("temporary_allocations", totals.temporary_allocations);
      json_.EndObject();
    }

    void write_mappings(const FrameList& frames) {
      const MappingTotals& totals = report_.snapshot.mapping_totals;
      key("mappings");
      json_.StartObject();
      number("mappings", totals.mappings);
      number("unmappings", totals.unmappings);
      number("mapped_bytes", totals.mapped_bytes);
      number("live_mappings", totals.live_mappings);
      number("live_bytes", totals.live_bytes);
      number("peak_live_bytes", totals.peak_live_bytes);
      key("stacks");
      json_.StartArray();
      for (const MappingSummary& mapping : report_.snapshot.mappings) {
        json_.StartObject();
        write_frame_indices(mapping.stack, frames);
        number("live_mappings", mapping.live_mappings);
        number("live_bytes", mapping.live_bytes);
        json_.EndObject();
      }
      json_.EndArray();
      json_.EndObject();
    }

    void write_modules() {
      key("modules");
      json_.StartArray();
      for (const Module& module : report_.modules.modules()) {
        json_.StartObject();
        text("path", module.path);
        key("build_id");
        write_build_id(module);
        number("start", module.start);
        number("end", module.end);
        number("bias", module.bias);
        json_.EndObject();
      }
      json_.EndArray();
    }

    void write_build_id(const Module& module) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      char digits[2 * sizeof module.build_id];
      for (std::size_t i = 0; i < module.build_id_bytes; ++i) {
        const auto byte = std::to_integer<unsigned>(module.build_id[i]);
        digits[2 * i] = kDigits[byte >> 4];
        digits[2 * i + 1] = kDigits[byte & 15];
      }
      string_or_null({digits, 2 * module.build_id_bytes});
    }

    void write_frames(const FrameList& frames) {
      key("frames");
      json_.StartArray();
      for (const std::uintptr_t frame : frames) {
        const std::uintptr_t address = call_address(frame);
        const Module* module = report_.modules.find(address);
        json_.StartObject();
        number("address", frame);
        key("function");
        string_or_null(report_.name_of(address, {name_, sizeof name_}));
        key("module");
        if (module == nullptr) {
          json_.Null();
          key("offset");
          json_.Null();
        } else {
          json_.Uint64(report_.modules.index_of(*module));
          number("offset", address - module->bias);
        }
        json_.EndObject();
      }
      json_.EndArray();
    }

    void write_stacks(const FrameList& frames) {
      key("stacks");
      json_.StartArray();
      for (const StackSummary& stack : report_.snapshot.stacks) {
        json_.StartObject();
        write_frame_indices(stack.stack, frames);
        number("allocations", stack.total.allocations);
        number("allocated_bytes", stack.total.allocated_bytes);
        number("live_allocations", stack.live_allocations);
        number("live_bytes", stack.live_bytes);
        number("temporary_allocations", stack.total.temporary_allocations);
        json_.EndObject();
      }
      json_.EndArray();
    }

    void write_frame_indices(StackId stack, const FrameList& frames) {
      key("frames");
      json_.StartArray();
      for (const std::uintptr_t frame : report_.snapshot.table->frames(stack)) {
        json_.Uint64(frames.index_of(frame));
      }
      json_.EndArray();
    }

    static constexpr std::size_t kLongestText = 16 * 1024;
    static constexpr std::size_t kLevelBytes = 4096;

    const Report& report_;
    Stream stream_;
    char level_buffer_[kLevelBytes];
    Levels levels_{level_buffer_, sizeof level_buffer_};
    Json json_;
    char name_[kLongestName];
    char utf8_[3 * kLongestText];
  };
};

static_assert(DumpPolicy<JsonDump>);

}  // namespace alloctap
