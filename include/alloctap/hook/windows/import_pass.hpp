/// One walk over the import table slots of a module.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>

#include "alloctap/hook/plt/target.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/windows/memory_protection.hpp"
#include "alloctap/os/windows/module_symbols.hpp"
#include "alloctap/pe/import_table.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

enum class ImportAction : std::uint8_t { kHook, kUnhook, kLook };

/// Numbers of slots of one module that match a hooked function by value or name.
struct ImportCounts {
  /// Number of slots that hold a handler.
  std::uint32_t hooked = 0;
  /// Number of slots that import a hooked function but hold another address, such as a tool's.
  std::uint32_t foreign = 0;
  /// Number of delay-loaded slots that are not bound yet.
  std::uint32_t unbound = 0;
  /// Number of slots that could not be written.
  std::uint32_t refused = 0;
};

/// Walk that changes slots by value: replaces a function's address by the handler's, or the
/// handler's by the function's. It needs no state per module, which could become stale.
/// Thread-safe; allocates nothing and does not call the loader.
class ImportPass {
 public:
  ImportPass(std::span<const PltTarget> targets, ImportAction action) noexcept
      : targets_(targets), action_(action) {}

  /// Requires the loader lock, or a module that cannot be unloaded. `lock_` serializes walks,
  /// because each store restores the page's protection. `lock_` is acquired inside the loader lock,
  /// never around it. Hooks nothing if `wanted` is false once `lock_` is held.
  ImportCounts run(std::uintptr_t start, const std::atomic<bool>& wanted) const noexcept {
    const std::lock_guard hold(lock_);
    ImportCounts counts;
    if (action_ == ImportAction::kHook && !wanted.load(std::memory_order_acquire)) return counts;
    const std::size_t bytes = os::image_headers(start).OptionalHeader.SizeOfImage;
    const auto* const image = reinterpret_cast<const std::byte*>(start);
    const pe::ImportTable table(std::span(image, os::readable_bytes(start, bytes)));
    table.for_each_slot([&](const pe::ImportSlot& slot) {
      if ((start + slot.offset) % sizeof(std::uintptr_t) == 0) visit(start, bytes, slot, counts);
    });
    return counts;
  }

 private:
  void visit(std::uintptr_t start, std::size_t bytes, const pe::ImportSlot& slot,
             ImportCounts& counts) const noexcept {
    auto* const place = reinterpret_cast<std::uintptr_t*>(start + slot.offset);
    const std::uintptr_t value = std::atomic_ref(*place).load(std::memory_order_acquire);
    for (const PltTarget& target : targets_) {
      if (target.original == 0) continue;
      if (value == target.original) return to_handler(place, target, counts);
      if (value == target.handler) return to_original(place, target, counts);
    }
    if (slot.name == nullptr || !is_named(slot.name)) return;
    const bool is_own_code = value - start < bytes;
    ++(slot.is_delayed && is_own_code ? counts.unbound : counts.foreign);
  }

  void to_handler(std::uintptr_t* place, const PltTarget& target,
                  ImportCounts& counts) const noexcept {
    if (action_ != ImportAction::kHook) return;
    count(os::exchange_slot(place, target.original, target.handler), counts);
  }

  void to_original(std::uintptr_t* place, const PltTarget& target,
                   ImportCounts& counts) const noexcept {
    if (action_ != ImportAction::kUnhook) {
      ++counts.hooked;
      return;
    }
    if (os::exchange_slot(place, target.handler, target.original) == os::SlotExchange::kRefused) {
      ++counts.refused;
    }
  }

  static void count(os::SlotExchange exchange, ImportCounts& counts) noexcept {
    if (exchange == os::SlotExchange::kDone) ++counts.hooked;
    if (exchange == os::SlotExchange::kChanged) ++counts.foreign;
    if (exchange == os::SlotExchange::kRefused) ++counts.refused;
  }

  [[nodiscard]] bool is_named(std::string_view name) const noexcept {
    for (const PltTarget& target : targets_) {
      if (target.original != 0 && name == target.name) return true;
    }
    return false;
  }

  static inline constinit FutexLock lock_;

  std::span<const PltTarget> targets_;
  ImportAction action_;
};

}  // namespace alloctap
