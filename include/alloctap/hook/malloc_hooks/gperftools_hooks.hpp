/// Provider for MallocHook of gperftools' tcmalloc. Source: gperftools/malloc_hook_c.h.
#pragma once

#include <cstddef>

#include "alloctap/hook/malloc_hooks/hook_provider.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/status.hpp"

extern "C" {
ALLOCTAP_WEAK int MallocHook_AddNewHook(void (*hook)(const void*, std::size_t));
ALLOCTAP_WEAK int MallocHook_RemoveNewHook(void (*hook)(const void*, std::size_t));
ALLOCTAP_WEAK int MallocHook_AddDeleteHook(void (*hook)(const void*));
ALLOCTAP_WEAK int MallocHook_RemoveDeleteHook(void (*hook)(const void*));
}

namespace alloctap {

/// Functions of the tcmalloc in this process, if any. `add` and `remove` return 1, or 0 on failure.
struct GperftoolsLibrary {
  using NewHook = void(const void*, std::size_t);
  using DeleteHook = void(const void*);

  static bool present() noexcept {
    return &MallocHook_AddNewHook != nullptr && &MallocHook_RemoveNewHook != nullptr &&
           &MallocHook_AddDeleteHook != nullptr && &MallocHook_RemoveDeleteHook != nullptr;
  }
  static int add(NewHook* hook) noexcept { return MallocHook_AddNewHook(hook); }
  static int remove(NewHook* hook) noexcept { return MallocHook_RemoveNewHook(hook); }
  static int add(DeleteHook* hook) noexcept { return MallocHook_AddDeleteHook(hook); }
  static int remove(DeleteHook* hook) noexcept { return MallocHook_RemoveDeleteHook(hook); }
};

/// Provider for tcmalloc, which has room for seven removable hooks of each kind.
template <class Library = GperftoolsLibrary>
class GperftoolsHooks {
 public:
  static constexpr std::string_view name = "gperftools";

  static Status install() {
    if (!Library::present()) {
      return Status::not_found(
          "no MallocHook_AddNewHook; link the program with gperftools' -ltcmalloc or "
          "-ltcmalloc_minimal, or preload it");
    }
    if (Library::add(&on_new) != 0) {
      if (Library::add(&on_delete) != 0) return Status();
      Library::remove(&on_new);
    }
    return Status::resource_exhausted(
        "MallocHook has no place left: seven other hooks are installed; remove one of them");
  }

  static void uninstall() noexcept {
    Library::remove(&on_delete);
    Library::remove(&on_new);
  }

 private:
  ALLOCTAP_NOINLINE static void on_new(const void* block, std::size_t size) {
    ReportedCall::allocated(ALLOCTAP_CALL_ORIGIN(), block, size);
  }
  ALLOCTAP_NOINLINE static void on_delete(const void* block) {
    ReportedCall::freeing(ALLOCTAP_CALL_ORIGIN(), block, 0);
  }
};

static_assert(HookProvider<GperftoolsHooks<>>);

}  // namespace alloctap
