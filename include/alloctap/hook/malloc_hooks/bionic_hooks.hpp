/// Provider for bionic's __malloc_hook family. Source: bionic/libc/malloc_hooks/README.md.
#pragma once

#include "alloctap/hook/malloc_hooks/variable_hooks.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

struct BionicLibrary {
  static os::MallocHookVariables variables() noexcept { return os::bionic_hook_variables(); }
};

/// Provider for bionic, whose hook variables initially hold bionic's own functions. The new hooks
/// call the previous hooks, so that the previous hooks keep working.
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

}  // namespace alloctap
