#include "slot_probe.h"

#include <execinfo.h>
#include <link.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "alloctap/hook/plt_hook.hpp"
#include "alloctap/stack/unwind_table_stack.hpp"
#include "alloctap/status.hpp"

namespace {

using namespace alloctap;

std::atomic<bool> noisy{false};

void make_noise() {
  void* frames[8];
  char text[64];
  std::map<int, std::string> tree;
  for (int i = 0; i < 4; ++i) tree[i] = std::string(100, 'x');
  void* volatile block = std::malloc(100);
  std::free(block);
  static_cast<void>(std::snprintf(text, sizeof text, "%d %f", ::backtrace(frames, 8), 0.5));
  ::dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 0; }, nullptr);
}

struct CountingSink {
  static inline std::atomic<unsigned long> allocations{0};
  static inline std::atomic<unsigned long> frees{0};
  static inline std::atomic<unsigned long> reallocations{0};
  static inline std::atomic<unsigned long> unloadings{0};

  static void on_allocate(const AllocationEvent&) noexcept {
    ++allocations;
    if (noisy) make_noise();
  }
  static void on_deallocate(const DeallocationEvent&) noexcept {
    ++frees;
    if (noisy) make_noise();
  }
  static DetachedBlock begin_reallocate(const DeallocationEvent&) noexcept {
    ++reallocations;
    return {};
  }
  static void cancel_reallocate(const DetachedBlock&) noexcept { --reallocations; }
  static void finish_reallocate(const DetachedBlock&) noexcept {}
  static void on_map(const MappingEvent&) noexcept {}
  static DetachedMappings begin_unmap(const MappingEvent&) noexcept { return {}; }
  static void cancel_unmap(DetachedMappings&) noexcept {}
  static void finish_unmap(DetachedMappings&) noexcept {}
  static void on_modules_unloading() noexcept { ++unloadings; }
  static void on_modules_unloaded() noexcept {}
};

std::string message;

}  // namespace

extern "C" {

const char* probe_install(const char* pattern, const char* left_out) {
  const ReentrancyGuard guard;
  PltHook::clear_modules();
  PltHook::leave_alone(reinterpret_cast<const void*>(&probe_install));
  if (pattern != nullptr) static_cast<void>(PltHook::modules_matching(pattern));
  if (left_out != nullptr) static_cast<void>(PltHook::modules_not_matching(left_out));
  const std::lock_guard hold(control_lock);
  const alloctap::Status status = PltHook::install<CountingSink>();
  message = std::string(status.message());
  return status.ok() ? nullptr : message.c_str();
}

void probe_uninstall(void) {
  const ReentrancyGuard guard;
  const std::lock_guard hold(control_lock);
  PltHook::uninstall();
}

void probe_refresh(void) { PltHook::refresh(); }
unsigned long probe_allocations(void) { return CountingSink::allocations; }
unsigned long probe_frees(void) { return CountingSink::frees; }
unsigned long probe_reallocations(void) { return CountingSink::reallocations; }
unsigned long probe_unloadings(void) { return CountingSink::unloadings; }
unsigned long probe_put_off(void) { return PltState::refreshes_put_off; }
unsigned probe_hooked_slots(void) { return PltHook::report().hooked_slots; }

const char* probe_warning(void) {
  const ReentrancyGuard guard;
  const PltReport report = PltHook::report();
  message = report.warnings.empty() ? "" : report.warnings.front();
  return message.c_str();
}

void probe_make_noise(int on) { noisy = on != 0; }

ALLOCTAP_NOINLINE std::size_t probe_stack(std::uintptr_t* frames, std::size_t room) {
  const ReentrancyGuard guard;
  const CapturedStack stack =
      UnwindTableStack::capture(*ThreadStates::mine(), ALLOCTAP_CALL_ORIGIN(), {frames, room});
  return stack.failed || stack.truncated ? 0 : stack.depth;
}

char* probe_maps(void) {
  const ReentrancyGuard guard;
  std::ifstream maps("/proc/self/maps");
  std::string kept;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('/') != line.npos) kept += line + "\n";
  }
  return ::strdup(kept.c_str());
}
}
