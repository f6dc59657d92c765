/// Loaded modules: lookup by address, lookup of symbols, notices of loading and unloading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace alloctap::os {

/// A mapped executable or library. `start` is 0 if no module was found.
struct LoadedModule {
  /// Address at which the module's file begins. At least one page from here is readable.
  std::uintptr_t start = 0;
  /// An address above the queried address, but not beyond the end of the module.
  std::uintptr_t end = 0;
  /// Address of the unwind tables (on ELF, .eh_frame_hdr); 0 if the system does not provide it.
  std::uintptr_t unwind_tables = 0;
};

/// Returns the module that contains `address`; an empty module for code not loaded from a file,
/// such as JIT code. Takes no lock and allocates nothing; may run inside malloc and inside a signal
/// handler. The result is valid only while the module stays loaded, which the caller must ensure. A
/// return address on the caller's stack keeps its module loaded. errno may change.
LoadedModule find_module(std::uintptr_t address) noexcept;

/// Returns the first definition of `name` in the process's lookup order; nullptr if undefined. In a
/// non-PIE program whose code takes the function's address, the result may be the program's PLT
/// stub, which is the canonical address. Control plane, because it calls the loader.
void* default_symbol(const char* name) noexcept;

/// Returns the definition of `name` to which the module at `path` binds; nullptr if undefined or if
/// the module is not loaded. Leaves no dlerror(3) text. Control plane.
void* symbol_seen_by(const char* path, const char* name) noexcept;

/// Permanently prevents unloading of the module that contains `code`. Does nothing for the main
/// program. Returns false if the loader refuses. Control plane.
bool pin_module(const void* code) noexcept;

/// A function symbol. `name` is valid as long as the module is loaded.
struct FunctionSymbol {
  const char* name = nullptr;
  std::size_t bytes = 0;
};

/// Returns the exported symbol at exactly `address`; an empty one if no symbol begins there.
/// Control plane, because it calls the loader.
FunctionSymbol find_function_symbol(const void* address) noexcept;

/// A mapped module, reported before its first instruction runs or after its last one has run.
struct ModuleNotice {
  enum class What : std::uint8_t { kLoaded, kUnloading };

  What what = What::kLoaded;
  std::uintptr_t start = 0;
  /// One past the module's last byte.
  std::uintptr_t end = 0;
  /// UTF-8 path with '/' separators; empty if unknown. Valid during the call.
  std::string_view path;
};

/// A subscription: while it is active, calls a function for each module loaded or unloaded. Calls
/// are serialized and made with the loader lock held. The listener must not call malloc or the
/// loader, or wait for a thread that may do either. Constant-initialized, never destroyed. Not
/// thread-safe.
class ModuleNotices {
 public:
  using Listener = void (*)(const ModuleNotice&) noexcept;

  constexpr explicit ModuleNotices(Listener listener) noexcept : listener_(listener) {}
  ModuleNotices(const ModuleNotices&) = delete;
  ModuleNotices& operator=(const ModuleNotices&) = delete;

  /// Starts the notification. Returns 0 or the negated system error. Pins the module that contains
  /// the listener, because the loader would call the listener even after an unload. Control plane:
  /// takes the loader's locks, so the caller must hold no lock that a listener may need.
  [[nodiscard]] int start() noexcept;

  /// Stops the notification and waits for a running call. Takes the loader's locks: control plane.
  void stop() noexcept;

 private:
  Listener listener_;
  void* registration_ = nullptr;

  friend struct ModuleNoticeCall;
};

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/module_symbols.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/module_symbols.hpp"
#else
#error "alloctap/os/module_symbols.hpp has no implementation for this system"
#endif
