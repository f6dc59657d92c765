/// The system's library for debug information (DbgHelp), on systems that have such a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace alloctap::os {

/// A function and source line, valid during a visit.
struct SymbolFrame {
  std::string_view function;
  std::string_view file;
  /// Line number; 0 if unknown.
  std::uint32_t line = 0;
};

/// Loads the library if it is not loaded yet. Returns 0 or the negated system error. Control plane:
/// calls malloc and takes the loader's locks.
int load_symbol_library() noexcept;

/// Debug information of one module, loaded or unloaded. Only one thread at a time may use objects
/// of this class, because the library is not thread-safe. Control plane: the library calls malloc.
class LibrarySymbols {
 public:
  /// `path` (UTF-8) is the file that is, was or could be mapped at `[start, start + bytes)`.
  LibrarySymbols(std::string_view path, std::uintptr_t start, std::size_t bytes) noexcept;
  ~LibrarySymbols();
  LibrarySymbols(const LibrarySymbols&) = delete;
  LibrarySymbols& operator=(const LibrarySymbols&) = delete;

  /// Calls `visit(const SymbolFrame&)` for the functions inlined at `address`, innermost first,
  /// then for the function that contains them. Makes no call if `address` has no debug information.
  template <class Visit>
  void visit_frames(std::uintptr_t address, Visit&& visit) const noexcept;

 private:
  [[maybe_unused]] std::uintptr_t start_ = 0;
  /// The library's handle of the module; 0 if the module has no debug information.
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
