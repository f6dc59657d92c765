/// Mappings, locations and functions of a pprof profile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/build_id_text.hpp"
#include "alloctap/dump/frame_labels.hpp"
#include "alloctap/dump/function_numbers.hpp"
#include "alloctap/dump/pprof_stream.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap::pprof {

/// Writer of the mappings, locations and functions that samples refer to. The report, its labels
/// and the stream must outlive this object.
class Code {
 public:
  Code(const Report& report, const FrameLabels& labels, Stream& stream)
      : report_(report), labels_(labels), stream_(stream) {}

  /// Returns the location id of `frame`, a frame of `stack`. Ids of calls come first. The next two
  /// ids are placeholders for stacks without frames.
  [[nodiscard]] std::uint64_t location_of(const LabelledFrame& frame, StackId stack) {
    if (frame.place != LabelledFrame::kNoPlace) return frame.place + 1;
    const std::size_t kind = stack == kStackNotTaken ? 1 : 0;
    stand_ins_[kind] = frame.label;
    return labels_.list().size() + 1 + kind;
  }

  /// Writes mappings, locations and functions. Call it after all samples were written.
  void write() {
    write_mappings();
    for (std::size_t place = 0; place < labels_.list().size(); ++place) write_location(place);
    write_stand_ins();
    write_functions();
  }

 private:
  struct NamesKnown {
    bool functions = false;
    bool inlined = false;
  };

  [[nodiscard]] NamesKnown names_known() const {
    NamesKnown known;
    for (std::size_t i = 0; i < labels_.list().size(); ++i) {
      for (const SourceFrame& frame : labels_.list().source(i)) {
        known.functions = known.functions || !frame.function.empty();
      }
      known.inlined = known.inlined || labels_.list().source(i).size() > 1;
    }
    return known;
  }

  /// Writes the executable first, because readers take the first mapping for the main program.
  void write_mappings() {
    const NamesKnown known = names_known();
    for (const bool program : {true, false}) {
      for (const Module& module : report_.modules.modules()) {
        if ((module.path == report_.program.executable) == program) write_mapping(module, known);
      }
    }
  }

  [[nodiscard]] std::uint64_t id_of(const Module& module) const noexcept {
    return report_.modules.index_of(module) + 1;
  }

  void write_mapping(const Module& module, const NamesKnown& known) {
    const std::string_view build_id = build_ids_.keep(BuildIdText(module).view());
    if (build_id.empty() && module.build_id_bytes > 0) stream_.fail();
    stream_.add_message<Mapping>(Profile::kMapping, [&](Builder<Mapping>& mapping) {
      mapping.add_uint64(Mapping::kId, id_of(module));
      mapping.add_uint64(Mapping::kMemoryStart, module.start);
      mapping.add_uint64(Mapping::kMemoryLimit, module.end);
      mapping.add_int64(Mapping::kFilename, stream_.text(module.path));
      mapping.add_int64(Mapping::kBuildId, stream_.text(build_id));
      mapping.add_bool(Mapping::kHasFunctions, known.functions);
      mapping.add_bool(Mapping::kHasFilenames, known.functions);
      mapping.add_bool(Mapping::kHasLineNumbers, known.functions);
      mapping.add_bool(Mapping::kHasInlineFrames, known.inlined);
    });
  }

  void write_location(std::size_t place) {
    const auto [address, module] = labels_.list().place(place);
    stream_.add_message<Location>(Profile::kLocation, [&](Builder<Location>& location) {
      location.add_uint64(Location::kId, place + 1);
      if (module != nullptr) location.add_uint64(Location::kMappingId, id_of(*module));
      location.add_uint64(Location::kAddress, address);
      for (const LabelledFrame& frame : labels_.at(place)) write_line(location, frame);
    });
  }

  void write_stand_ins() {
    for (std::size_t kind = 0; kind < stand_ins_.size(); ++kind) {
      if (stand_ins_[kind].empty()) continue;
      stream_.add_message<Location>(Profile::kLocation, [&](Builder<Location>& location) {
        location.add_uint64(Location::kId, labels_.list().size() + 1 + kind);
        write_line(location, {.label = stand_ins_[kind]});
      });
    }
  }

  void write_line(Builder<Location>& location, const LabelledFrame& frame) {
    Builder<Line> line(location, Location::kLine);
    line.add_uint64(Line::kFunctionId, function_of(frame));
    line.add_int64(Line::kLine, frame.line);
  }

  [[nodiscard]] std::uint64_t function_of(const LabelledFrame& frame) {
    const std::uint32_t number = functions_.number_of(frame);
    if (number == FunctionNumbers::kNone) stream_.fail();
    return number + std::uint64_t{1};
  }

  void write_functions() {
    std::uint64_t id = 0;
    for (const FunctionNumbers::Function& known : functions_.functions()) {
      ++id;
      stream_.add_message<Function>(Profile::kFunction, [&](Builder<Function>& function) {
        function.add_uint64(Function::kId, id);
        function.add_int64(Function::kName, stream_.text(known.label));
        function.add_int64(Function::kFilename, stream_.text(known.file));
      });
    }
  }

  const Report& report_;
  const FrameLabels& labels_;
  Stream& stream_;
  TextPool build_ids_;
  FunctionNumbers functions_;
  std::array<std::string_view, 2> stand_ins_{};
};

}  // namespace alloctap::pprof
