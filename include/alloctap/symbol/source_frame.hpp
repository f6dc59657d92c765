/// Input and output of a symbolizer.
#pragma once

#include <cstdint>
#include <string_view>

namespace alloctap {

struct Module;

/// An instruction to symbolize.
struct CodeAddress {
  /// An address in the process; for a call, the last byte of the instruction, not the return
  /// address.
  std::uintptr_t address = 0;
  /// The module that contains it, or did when it was recorded; nullptr if unknown.
  const Module* module = nullptr;
};

/// A function with file and line. The producer owns the strings.
struct SourceFrame {
  /// The demangled name; empty if unknown.
  std::string_view function = {};
  /// The path of the source file as the compiler recorded it; empty if unknown.
  std::string_view file = {};
  /// Line number from 1; 0 if unknown.
  std::uint32_t line = 0;
};

}  // namespace alloctap
