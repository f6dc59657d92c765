/// The opening members of a report of schema alloctap.heap/1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/json_fields.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/version.hpp"

namespace alloctap {

/// Writer of the members from `program` to `totals`: program, backend, data quality, sampling,
/// sums. The report and the builder must outlive this object.
class JsonOpening {
 public:
  JsonOpening(const Report& report, JsonBuilder& json) : report_(report), json_(json) {}

  void write() {
    write_program();
    write_backend();
    write_object(json_, "account", report_.snapshot.account);
    write_sampling();
    write_object(json_, "totals", report_.snapshot.totals);
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

  /// Writes the arguments in `command`, which '\0' separates. A final '\0' adds an empty argument.
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

  void write_sampling() {
    json_.key("sampling");
    json_.begin_object();
    json_.text("policy", report_.snapshot.sampling.policy.name);
    write_fields(json_, report_.snapshot.sampling);
    json_.end_object();
  }

  const Report& report_;
  JsonBuilder& json_;
};

}  // namespace alloctap
