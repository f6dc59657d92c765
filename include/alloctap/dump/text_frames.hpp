/// Stack frames in the text report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/frame_list.hpp"
#include "alloctap/dump/printable_text.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/symbol/source_frame.hpp"

namespace alloctap {

inline void write_text_function(const SourceFrame& frame, DumpWriter& out) {
  out << "    " << PrintableText(frame.function.empty() ? "??" : frame.function);
  if (frame.file.empty()) return;
  out << "   " << PrintableText(frame.file);
  if (frame.line > 0) out << ':' << frame.line;
}

/// Writes " function file:line module+0xoffset". Functions inlined into that function precede it,
/// one on each line. The offset is the call's address in the module's file.
inline void write_text_frame(const FrameList& list, std::size_t index, DumpWriter& out) {
  const auto source = list.source(index);
  for (std::size_t i = 0; i + 1 < source.size(); ++i) {
    write_text_function(source[i], out);
    out << "   (inlined)\n";
  }
  write_text_function(source.empty() ? SourceFrame() : source.back(), out);
  out << "   ";
  const auto [address, module] = list.place(index);
  if (module == nullptr) {
    out.hex(address) << "\n";
    return;
  }
  out << PrintableText(module->path.substr(module->path.rfind('/') + 1)) << '+';
  out.hex(address - module->bias) << (module->is_unloaded() ? " (unloaded)\n" : "\n");
}

/// Writes the frames of `stack`, leaf first, one for each line. `list` must contain the frames.
inline void write_text_frames(const Report& report, StackId stack, const FrameList& list,
                              DumpWriter& out) {
  const auto frames = report.snapshot.table->frames(stack);
  if (frames.empty()) {
    out << (stack == kStackNotTaken ? "    (no stack: size outside the range)\n"
                                    : "    (stack unknown)\n");
  }
  for (const std::uintptr_t frame : frames) {
    write_text_frame(list, list.index_of(stack, frame), out);
  }
}

}  // namespace alloctap
