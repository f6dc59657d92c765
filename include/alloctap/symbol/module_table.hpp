/// The modules of the process: which file an address belongs to, and where in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/pe/native_image.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap {

/// An executable or shared object that is mapped at `[start, end)`.
struct Module {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  /// Address in the process minus address in the file.
  std::uintptr_t bias = 0;
  std::string_view path;
  std::size_t build_id_bytes = 0;
  std::byte build_id[32] = {};
  /// Whether code of it is mapped; a file that is only read, as data, is no module.
  bool has_code = false;
  /// Whether its file was removed or replaced since: another one may be at `path`.
  bool is_gone = false;
  /// The first stack that was kept after it was unloaded: older ones with addresses in it meant it.
  /// `kNoStackId` while it is loaded.
  StackId unloaded_before = kNoStackId;

  [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
    return address >= start && address < end;
  }

  [[nodiscard]] bool is_unloaded() const noexcept { return unloaded_before != kNoStackId; }
};

/// Whether what `ModuleTable::read` found is all there is.
enum class ModuleReading : std::uint8_t {
  kComplete,
  kNoMemory,
  /// The system does not describe the address space: no /proc, no descriptor left.
  kUnreadable,
};

/// A copy of the module list at one moment, and of those that were unloaded before. It is read from
/// the system's description of the address space and from the modules' headers, not from the
/// loader, whose lock a stopped thread may hold. Memory from the arena. Move-only.
class ModuleTable {
 public:
  /// What is mapped now, as far as `reading()` says.
  [[nodiscard]] static ModuleTable read() noexcept;

  /// How `read` went.
  [[nodiscard]] ModuleReading reading() const noexcept { return reading_; }

  /// The loaded module that holds `address`, or nullptr.
  [[nodiscard]] const Module* find(std::uintptr_t address) const noexcept;

  /// The module that held `address` when `stack` was recorded, or nullptr.
  [[nodiscard]] const Module* find(std::uintptr_t address, StackId stack) const noexcept {
    const Module* unloaded = find_unloaded(address, stack);
    return unloaded != nullptr ? unloaded : find(address);
  }

  /// Of the unloaded modules, the one that held `address` when `stack` was recorded, or nullptr.
  [[nodiscard]] const Module* find_unloaded(std::uintptr_t address, StackId stack) const noexcept;

  /// Those that are loaded by ascending address, then the unloaded ones as they went.
  [[nodiscard]] std::span<const Module> modules() const noexcept {
    return {modules_.data(), modules_.size()};
  }

  [[nodiscard]] std::span<const Module> loaded() const noexcept { return modules().first(loaded_); }

  /// Adds a loaded module above all others, before any that was unloaded: for tables that were
  /// saved.
  [[nodiscard]] bool add_loaded(const Module& module) noexcept;

  /// Adds a module that was unloaded after all others that were added.
  [[nodiscard]] bool add_unloaded(const Module& module) noexcept;

  /// The position of `module`, an element of this table.
  [[nodiscard]] std::size_t index_of(const Module& module) const noexcept {
    return static_cast<std::size_t>(&module - modules_.data());
  }

 private:
  static constexpr std::size_t kBufferBytes = 256 * 1024;
  /// Linkers put headers and build-ids into the first page, or into one of the next.
  static constexpr std::size_t kFirstPageBytes = 4 * 1024;
  static constexpr std::size_t kFileStartBytes = 4 * kFirstPageBytes;

  void visit(const os::MemoryRegion& region) noexcept;

  /// From the first `most` bytes; what it points to is in `file_start_`.
  auto read_image(const os::MemoryRegion& region, std::size_t most) noexcept {
    const std::size_t bytes = os::copy_memory(
        region.start, {file_start_.data(), std::min(most, region.end - region.start)});
    return native::read_mapped_image({file_start_.data(), bytes}, region.start);
  }

  void add(const os::MemoryRegion& region) noexcept;

  void forget_data() noexcept;

  ArenaArray<Module> modules_;
  std::size_t loaded_ = 0;
  ModuleReading reading_ = ModuleReading::kComplete;
  TextPool paths_;
  ArenaArray<std::byte> file_start_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/module_table.hpp"
#endif
