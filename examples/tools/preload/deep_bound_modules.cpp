#include "deep_bound_modules.hpp"

#include <dlfcn.h>

#include <alloctap/arch/shadow_stack.hpp>
#include <alloctap/elf/find_return_gadget.hpp>
#include <alloctap/hook/allocation_functions.hpp>
#include <alloctap/hook/plt/engine.hpp>
#include <alloctap/os/loaded_images.hpp>
#include <alloctap/os/module_symbols.hpp>
#include <alloctap/os/thread_local.hpp>
#include <alloctap/runtime/futex_lock.hpp>
#include <alloctap/runtime/reentrancy_guard.hpp>
#include <array>
#include <cstdint>
#include <mutex>

namespace alloctap::run {
namespace {

constinit ModuleSelection every_module{true};
constinit const std::array<const ModuleSelection*, 1> selections{&every_module};

/// Control lock held.
void choose_slots(const char* own_path) noexcept {
  PltState& state = plt_state();
  state.selections = selections;
  AllocationFunctions::for_each([&](auto function) {
    const char* const name = decltype(function)::name;
    const PltTarget target{
        .name = name,
        .handler = reinterpret_cast<std::uintptr_t>(os::symbol_seen_by(own_path, name)),
        .original = reinterpret_cast<std::uintptr_t>(os::next_symbol(name)),
        .publish = [](std::uintptr_t) noexcept {}};
    if (target.handler != 0 && target.original != 0) static_cast<void>(state.targets.add(target));
  });
  PltState::active.store(true, std::memory_order_release);
}

void redirect_slots() noexcept {
  const UseInternalArena own;
  if (!PltState::active.load(std::memory_order_acquire)) {
    const std::lock_guard hold(control_lock);
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&redirect_slots), &info) == 0) return;
    if (!PltState::active.load(std::memory_order_relaxed)) choose_slots(info.dli_fname);
  }
  static_cast<void>(PltEngine::refresh());
}

/// The loader is to see the program's module as its caller, so it returns there first.
arch::ForwardedOpen begin_open(std::uintptr_t open, std::uintptr_t caller, int flags) noexcept {
  arch::ForwardedOpen forwarded{open, 0};
  if ((flags & RTLD_DEEPBIND) == 0 || ReentrancyGuard::inside()) return forwarded;
  const os::ErrnoGuard error;
  if (!arch::has_shadow_stack()) forwarded.gadget = elf::find_return_gadget(caller);
  if (forwarded.gadget != 0) this_thread_slot().depth.store(1, std::memory_order_relaxed);
  return forwarded;
}

/// Runs only where `begin_open` found a gadget.
void end_open(const void* handle) noexcept {
  const os::ErrnoGuard error;
  if (handle != nullptr) redirect_slots();
  this_thread_slot().depth.store(0, std::memory_order_relaxed);
}

constexpr PltInterposedOpen kInterposedOpen{.begin = &begin_open, .end = &end_open};

}  // namespace

void redirect_deep_bound_modules() noexcept {
  PltLoaderCalls::set_interposed_open(kInterposedOpen);
}

bool has_deep_bound_modules() noexcept { return PltState::active.load(std::memory_order_acquire); }

}  // namespace alloctap::run

// A jump, because the loader looks at the return address.
#if defined(__x86_64__)
ALLOCTAP_ASM(R"(
  .text
  .globl dlopen
  .type dlopen, @function
dlopen:
  .cfi_startproc
  endbr64
  jmp alloctap_forward_open
  .cfi_endproc
  .size dlopen, . - dlopen
)");
#elif defined(__aarch64__)
ALLOCTAP_ASM(R"(
  .text
  .globl dlopen
  .type dlopen, %function
dlopen:
  .cfi_startproc
  hint #34
  b alloctap_forward_open
  .cfi_endproc
  .size dlopen, . - dlopen
)");
#endif
