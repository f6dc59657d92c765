/// Providers for C libraries with hook variables: bionic and glibc's libc_malloc_debug.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include "alloctap/hook/call_wrapper.hpp"
#include "alloctap/hook/malloc_hooks/hook_provider.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Real allocation functions, which must not call the hooks.
struct VariableHookOriginals {
  void* (*malloc)(std::size_t) = nullptr;
  void* (*realloc)(void*, std::size_t) = nullptr;
  void (*free)(void*) = nullptr;
  void* (*memalign)(std::size_t alignment, std::size_t size) = nullptr;

  [[nodiscard]] bool complete() const noexcept {
    return malloc != nullptr && realloc != nullptr && free != nullptr && memalign != nullptr;
  }
};

/// Hook functions for the hook variables of a C library, called by its malloc functions. The hooks
/// report to `HookFeed` and call the originals. `Tag` is any type, and each `Tag` has its own
/// variables and originals. `set` and `restore` run in the control plane, one at a time. Concurrent
/// calls see old or new hooks.
template <class Tag>
class VariableHooks {
 public:
  /// Stores the hooks in the variables. Requires that `variables` and `originals` are complete.
  /// Skips a variable that `restore` had to skip, because another tool's hook already calls this
  /// hook: otherwise the two hooks would call each other.
  static void set(const os::MallocHookVariables& variables,
                  const VariableHookOriginals& originals) noexcept {
    originals_ = originals;
    variables_ = variables;
    const auto keep = []<class Hook>(Hook** variable, Hook* /*ours*/, Hook*& before, bool skip) {
      if (!skip) before = load(variable);
    };
    for_each_variable(keep);
    const auto hook = []<class Hook>(Hook** variable, Hook* ours, Hook*& /*before*/, bool skip) {
      if (!skip) std::atomic_ref(*variable).store(ours, std::memory_order_release);
    };
    for_each_variable(hook);
  }

  /// Restores the values of before `set`, but skips a variable that another tool changed. The
  /// tool's hook may still call this hook, which then passes calls through.
  static void restore() noexcept {
    if (!variables_.complete()) return;
    const auto put_back = []<class Hook>(Hook** variable, Hook* ours, Hook* before, bool& skip) {
      skip = !std::atomic_ref(*variable).compare_exchange_strong(ours, before);
    };
    for_each_variable(put_back);
    variables_ = {};
  }

  /// Values before `set`; nullptr if unset.
  struct Previous {
    os::MallocHook* malloc = nullptr;
    os::ReallocHook* realloc = nullptr;
    os::FreeHook* free = nullptr;
    os::MemalignHook* memalign = nullptr;
  };
  [[nodiscard]] static const Previous& previous() noexcept { return previous_; }

  template <class Hook>
  [[nodiscard]] static Hook* load(Hook** variable) noexcept {
    return std::atomic_ref(*variable).load(std::memory_order_acquire);
  }

 private:
  /// Real functions, in the form that `CallWrapper` requires.
  struct Originals {
    static bool recording() noexcept { return HookFeed::connected(); }
    template <class Function>
    static typename Function::Signature* get() noexcept {
      if constexpr (std::is_same_v<Function, functions::Malloc>) {
        return originals_.malloc;
      } else if constexpr (std::is_same_v<Function, functions::Realloc>) {
        return originals_.realloc;
      } else if constexpr (std::is_same_v<Function, functions::Free>) {
        return originals_.free;
      } else {
        static_assert(std::is_same_v<Function, functions::Memalign>);
        return originals_.memalign;
      }
    }
  };
  using Call = CallWrapper<Originals, HookFeed>;

  ALLOCTAP_ALWAYS_INLINE static CallOrigin outside(CallOrigin origin) noexcept {
    origin.allocator = &hooked_allocator_frames;
    return origin;
  }

  ALLOCTAP_NOINLINE static void* on_malloc(std::size_t size, const void*) {
    return Call::template allocate<functions::Malloc>(outside(ALLOCTAP_CALL_ORIGIN()), size);
  }
  ALLOCTAP_NOINLINE static void* on_realloc(void* old, std::size_t size, const void*) {
    return Call::template reallocate<functions::Realloc>(outside(ALLOCTAP_CALL_ORIGIN()), old,
                                                         size);
  }
  ALLOCTAP_NOINLINE static void on_free(void* block, const void*) {
    Call::template deallocate<functions::Free>(outside(ALLOCTAP_CALL_ORIGIN()), block);
  }
  ALLOCTAP_NOINLINE static void* on_memalign(std::size_t alignment, std::size_t size, const void*) {
    return Call::template allocate<functions::Memalign>(outside(ALLOCTAP_CALL_ORIGIN()), alignment,
                                                        size);
  }

  /// Calls `visit(variable, hook, previous, called_by_another)` for each of the four variables. The
  /// variable of free comes first, so that no block is allocated whose free is missed.
  static void for_each_variable(auto&& visit) noexcept {
    visit(variables_.free, &on_free, previous_.free, called_by_another_.free);
    visit(variables_.realloc, &on_realloc, previous_.realloc, called_by_another_.realloc);
    visit(variables_.memalign, &on_memalign, previous_.memalign, called_by_another_.memalign);
    visit(variables_.malloc, &on_malloc, previous_.malloc, called_by_another_.malloc);
  }

  struct Flags {
    bool malloc = false;
    bool realloc = false;
    bool free = false;
    bool memalign = false;
  };

  static inline constinit VariableHookOriginals originals_;
  static inline constinit os::MallocHookVariables variables_;
  static inline constinit Previous previous_;
  /// Which variables hold the hook of another tool that calls this hook.
  static inline constinit Flags called_by_another_;
};

struct BionicLibrary {
  static os::MallocHookVariables variables() noexcept { return os::bionic_hook_variables(); }
};

/// Provider for bionic, whose hook variables (`__malloc_hook` and its family) initially hold
/// bionic's own functions. The new hooks call the previous hooks, so that the previous hooks keep
/// working. Source: bionic/libc/malloc_hooks/README.md.
template <class Library = BionicLibrary>
class BionicHooks {
  struct Tag;
  using Hooks = VariableHooks<Tag>;

 public:
  static constexpr std::string_view name = "bionic";

  static Status install() {
    const os::MallocHookVariables variables = Library::variables();
    if (!variables.complete()) {
      return Status::not_found("no __malloc_hook; there is one on Android from API level 28 on");
    }
    const bool enabled =
        Hooks::load(variables.malloc) != nullptr && Hooks::load(variables.realloc) != nullptr &&
        Hooks::load(variables.free) != nullptr && Hooks::load(variables.memalign) != nullptr;
    if (!enabled) {
      return Status::failed_precondition(
          "__malloc_hook is not in use; start the program with LIBC_HOOKS_ENABLE=1 in its "
          "environment, or set the property libc.debug.hooks.enable to 1");
    }
    Hooks::set(variables, {.malloc = &previous_malloc,
                           .realloc = &previous_realloc,
                           .free = &previous_free,
                           .memalign = &previous_memalign});
    return Status();
  }

  static void uninstall() noexcept { Hooks::restore(); }

 private:
  static void* previous_malloc(std::size_t size) { return Hooks::previous().malloc(size, nullptr); }
  static void* previous_realloc(void* old, std::size_t size) {
    return Hooks::previous().realloc(old, size, nullptr);
  }
  static void previous_free(void* block) { Hooks::previous().free(block, nullptr); }
  static void* previous_memalign(std::size_t alignment, std::size_t size) {
    return Hooks::previous().memalign(alignment, size, nullptr);
  }
};

static_assert(HookProvider<BionicHooks<>>);

struct GlibcLibrary {
  static void* symbol(const char* name) noexcept { return os::oldest_glibc_symbol(name); }
  static std::string_view file_of(const void* address) noexcept { return os::module_path(address); }
};

/// Provider for the hooks of glibc's libc_malloc_debug. Since glibc 2.34, `__malloc_hook` works
/// only if libc_malloc_debug.so.0 is preloaded or linked, and so precedes libc.so. The variable
/// `__malloc_hook` in libc.so has no effect, so `install` checks which file holds the variable. The
/// hooks call `__libc_malloc` and its relatives, which bypass libc_malloc_debug and the hook
/// variables. So the variables need not be cleared during a call.
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
