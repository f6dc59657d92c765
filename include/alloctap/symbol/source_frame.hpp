/// Input and output of a symbolizer.
#pragma once

#include <cstdint>
#include <string_view>

namespace alloctap {

struct Module;

/// An address to symbolize.
struct CodeAddress {
  /// An address in the process. A call is identified by its last byte, not by the return address.
  std::uintptr_t address = 0;
  /// The module that contained the address when it was recorded; nullptr if unknown.
  const Module* module = nullptr;
};

/// A function with source file and line. The symbolizer owns the strings.
struct SourceFrame {
  /// The demangled name of the function; empty if unknown.
  std::string_view function = {};
  /// The path of the source file as the compiler recorded it; empty if unknown.
  std::string_view file = {};
  /// Line number from 1; 0 if unknown.
  std::uint32_t line = 0;
};

}  // namespace alloctap
