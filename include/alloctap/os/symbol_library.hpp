/// The system's own reader of debug information, where it has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace alloctap::os {

/// A function and the place in it, valid during a visit.
struct SymbolFrame {
  std::string_view function;
  std::string_view file;
  /// 0 where it is unknown.
  std::uint32_t line = 0;
};

/// Brings the library into the process, once: 0, or the negated system error. It allocates from the
/// host and takes the loader's locks: control plane.
int load_symbol_library() noexcept;

/// What the library knows of one module, loaded or gone, for as long as this lives. The library
/// takes one thread at a time, and allocates from the host. Control plane.
class LibrarySymbols {
 public:
  /// `path`, in UTF-8, is the file that was, or could be, mapped at `[start, start + bytes)`.
  LibrarySymbols(std::string_view path, std::uintptr_t start, std::size_t bytes) noexcept;
  ~LibrarySymbols();
  LibrarySymbols(const LibrarySymbols&) = delete;
  LibrarySymbols& operator=(const LibrarySymbols&) = delete;

  /// Calls `visit(const SymbolFrame&)` for the frames at `address`, the innermost inlined function
  /// first; not at all where the module has no debug information of it.
  template <class Visit>
  void visit_frames(std::uintptr_t address, Visit&& visit) const noexcept;

 private:
  [[maybe_unused]] std::uintptr_t start_ = 0;
  /// What the library knows the module by; 0 where it knows nothing.
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
