/// Provider for the hooks of glibc's libc_malloc_debug.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "alloctap/hook/malloc_hooks/variable_hooks.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

struct GlibcLibrary {
  static void* symbol(const char* name) noexcept { return os::oldest_glibc_symbol(name); }
  static std::string_view file_of(const void* address) noexcept { return os::module_path(address); }
};

/// Since glibc 2.34, `__malloc_hook` works only if libc_malloc_debug.so.0 precedes libc.so, because
/// it is preloaded or linked. The variable `__malloc_hook` in libc.so has no effect, so `install`
/// checks which file holds the variable. Hooks call `__libc_malloc` and its relatives, which bypass
/// libc_malloc_debug, so hooks stay set during calls.
template <class Library = GlibcLibrary>
class GlibcDebugHooks {
  struct Tag;
  using Hooks = VariableHooks<Tag>;

 public:
  static constexpr std::string_view name = "glibc-debug";
  /// Part of the name of the file that must hold the hook variables.
  static constexpr std::string_view kLibrary = "libc_malloc_debug";

  static Status install() {
    const os::MallocHookVariables variables{
        .malloc = variable<os::MallocHook>("__malloc_hook"),
        .realloc = variable<os::ReallocHook>("__realloc_hook"),
        .free = variable<os::FreeHook>("__free_hook"),
        .memalign = variable<os::MemalignHook>("__memalign_hook")};
    if (Status status = check_place(variables); !status.ok()) return status;
    const VariableHookOriginals originals{
        .malloc = function<void*(std::size_t)>("__libc_malloc"),
        .realloc = function<void*(void*, std::size_t)>("__libc_realloc"),
        .free = function<void(void*)>("__libc_free"),
        .memalign = function<void*(std::size_t, std::size_t)>("__libc_memalign")};
    if (!originals.complete()) {
      return Status::failed_precondition(
          "the C library has no __libc_malloc, __libc_realloc, __libc_free and __libc_memalign to "
          "call from a hook");
    }
    if (Status status = check_use(variables); !status.ok()) return status;
    Hooks::set(variables, originals);
    return Status();
  }

  static void uninstall() noexcept { Hooks::restore(); }

 private:
  template <class Hook>
  static Hook** variable(const char* symbol) noexcept {
    return static_cast<Hook**>(Library::symbol(symbol));
  }
  template <class Function>
  static Function* function(const char* symbol) noexcept {
    return reinterpret_cast<Function*>(Library::symbol(symbol));
  }

  static bool in_library(const void* variable) noexcept {
    return variable != nullptr &&
           Library::file_of(variable).find(kLibrary) != std::string_view::npos;
  }

  static Status check_place(const os::MallocHookVariables& variables) {
    if (in_library(variables.malloc) && in_library(variables.realloc) &&
        in_library(variables.free) && in_library(variables.memalign)) {
      return Status();
    }
    constexpr std::string_view kHow =
        "; start the program with LD_PRELOAD=libc_malloc_debug.so.0, or link it with "
        "-Wl,--no-as-needed -l:libc_malloc_debug.so.0";
    if (variables.malloc == nullptr) {
      return Status::not_found("no __malloc_hook", std::string(kHow));
    }
    return Status::failed_precondition(
        "__malloc_hook lies in ", std::string(Library::file_of(variables.malloc)),
        ", where it does nothing since glibc 2.34", std::string(kHow));
  }

  /// Returns an error if another tool uses the variables, or if libc_malloc_debug checks blocks.
  static Status check_use(const os::MallocHookVariables& variables) {
    // Calls malloc before the variables are read, because the first call of malloc resets them.
    const bool plain = blocks_are_plain();
    if (Hooks::load(variables.malloc) != nullptr || Hooks::load(variables.realloc) != nullptr ||
        Hooks::load(variables.free) != nullptr || Hooks::load(variables.memalign) != nullptr) {
      return Status::failed_precondition(
          "__malloc_hook or one of its relatives is in use by another library, or malloc does not "
          "come from libc_malloc_debug");
    }
    if (plain) return Status();
    return Status::failed_precondition(
        "libc_malloc_debug checks blocks (MALLOC_CHECK_, glibc.malloc.check or mcheck), which it "
        "cannot do with hooks; switch that off");
  }

  /// Returns true if blocks are not checked. Requests a size that plain malloc rounds up, because a
  /// checked block has exactly the requested usable size.
  static bool blocks_are_plain() noexcept {
    constexpr std::size_t kOddSize = 25;
    auto* const allocate = function<void*(std::size_t)>("malloc");
    auto* const release = function<void(void*)>("free");
    auto* const usable_size = function<std::size_t(void*)>("malloc_usable_size");
    void* const block = allocate(kOddSize);
    const bool plain = usable_size == nullptr || block == nullptr || usable_size(block) != kOddSize;
    release(block);
    return plain;
  }
};

static_assert(HookProvider<GlibcDebugHooks<>>);

}  // namespace alloctap
