/// What is asked of a symbolizer, and what it answers.
#pragma once

#include <cstdint>
#include <string_view>

namespace alloctap {

struct Module;

/// An instruction whose place in the source is wanted.
struct CodeAddress {
  /// In the process. Of a call it is the last byte of the call instruction, not the return address.
  std::uintptr_t address = 0;
  /// The module that holds it, or held it when it was recorded; nullptr if none is known.
  const Module* module = nullptr;
};

/// A function and the place in it. Texts belong to whoever hands it out.
struct SourceFrame {
  /// Demangled; empty where it is unknown.
  std::string_view function = {};
  /// The path of the source file, as the compiler noted it; empty where it is unknown.
  std::string_view file = {};
  /// From 1; 0 where it is unknown.
  std::uint32_t line = 0;
};

}  // namespace alloctap
