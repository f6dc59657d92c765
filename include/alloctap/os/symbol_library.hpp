/// The system's library for debug information, on systems that have one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace alloctap::os {

/// A function and source line, valid during a visit.
struct SymbolFrame {
  std::string_view function;
  std::string_view file;
  /// 0 if unknown.
  std::uint32_t line = 0;
};

/// Loads the library once. Returns 0 or the negated system error. Allocates from the host and takes
/// the loader's locks: control plane.
int load_symbol_library() noexcept;

/// Debug information of one module, loaded or unloaded. The library takes one thread at a time and
/// allocates from the host. Control plane.
class LibrarySymbols {
 public:
  /// `path` (UTF-8) is the file that was, or could be, mapped at `[start, start + bytes)`.
  LibrarySymbols(std::string_view path, std::uintptr_t start, std::size_t bytes) noexcept;
  ~LibrarySymbols();
  LibrarySymbols(const LibrarySymbols&) = delete;
  LibrarySymbols& operator=(const LibrarySymbols&) = delete;

  /// Calls `visit(const SymbolFrame&)` for the frames at `address`, the innermost inlined function
  /// first. Makes no call if the module has no debug information for it.
  template <class Visit>
  void visit_frames(std::uintptr_t address, Visit&& visit) const noexcept;

 private:
  [[maybe_unused]] std::uintptr_t start_ = 0;
  /// The library's handle of the module; 0 if it has no debug information.
  [[maybe_unused]] std::uintptr_t module_ = 0;
};

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/symbol_library.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/symbol_library.hpp"
#else
#error "alloctap/os/symbol_library.hpp has no implementation for this system"
#endif
