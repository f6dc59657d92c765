/// The loaded and unloaded modules of the process.
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

/// An executable or shared object mapped at `[start, end)`.
struct Module {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  /// Load bias: process address minus file address.
  std::uintptr_t bias = 0;
  std::string_view path;
  std::size_t build_id_bytes = 0;
  std::byte build_id[32] = {};
  /// Whether the mapping has executable pages. Files mapped only as data are not modules.
  bool has_code = false;
  /// Whether the file was deleted or replaced. If true, `path` may name another file.
  bool is_gone = false;
  /// Id of the first stack recorded after the unload, or `kNoStackId` while the module is loaded.
  /// Addresses in stacks with lower ids refer to this module.
  StackId unloaded_before = kNoStackId;

  [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
    return address >= start && address < end;
  }

  [[nodiscard]] bool is_unloaded() const noexcept { return unloaded_before != kNoStackId; }
};

/// Whether `ModuleTable::read` found all modules.
enum class ModuleReading : std::uint8_t {
  kComplete,
  kNoMemory,
  /// The memory map is not readable: /proc is not mounted, or no descriptor is free.
  kUnreadable,
};

/// A list of loaded and unloaded modules at one moment. `read` uses the system's memory map and the
/// modules' headers. `read` does not call the loader, because a stopped thread may hold the
/// loader's lock. Allocated in the arena. Move-only.
class ModuleTable {
 public:
  /// Returns the modules that are mapped now. `reading()` states whether all were found.
  [[nodiscard]] static ModuleTable read() noexcept;

  [[nodiscard]] ModuleReading reading() const noexcept { return reading_; }

  /// Returns the loaded module that contains `address`, or nullptr.
  [[nodiscard]] const Module* find(std::uintptr_t address) const noexcept;

  /// Returns the module that contained `address` when `stack` was recorded, or nullptr.
  [[nodiscard]] const Module* find(std::uintptr_t address, StackId stack) const noexcept {
    const Module* unloaded = find_unloaded(address, stack);
    return unloaded != nullptr ? unloaded : find(address);
  }

  /// Returns the unloaded module that contained `address` when `stack` was recorded, or nullptr.
  [[nodiscard]] const Module* find_unloaded(std::uintptr_t address, StackId stack) const noexcept;

  /// Returns loaded modules in order of address, then unloaded modules in order of unload.
  [[nodiscard]] std::span<const Module> modules() const noexcept {
    return {modules_.data(), modules_.size()};
  }

  [[nodiscard]] std::span<const Module> loaded() const noexcept { return modules().first(loaded_); }

  /// Appends a loaded module of a saved table. Precondition: its address is above the addresses of
  /// all other modules, and no unloaded module was added. Returns false if out of memory.
  [[nodiscard]] bool add_loaded(const Module& module) noexcept;

  /// Appends an unloaded module. Call it in order of unload. Returns false if out of memory.
  [[nodiscard]] bool add_unloaded(const Module& module) noexcept;

  /// Returns the index of `module`, an element of this table.
  [[nodiscard]] std::size_t index_of(const Module& module) const noexcept {
    return static_cast<std::size_t>(&module - modules_.data());
  }

 private:
  static constexpr std::size_t kBufferBytes = 256 * 1024;
  /// Linkers place headers and build-id in the first page, or in one of the next three.
  static constexpr std::size_t kFirstPageBytes = 4 * 1024;
  static constexpr std::size_t kFileStartBytes = 4 * kFirstPageBytes;

  void visit(const os::MemoryRegion& region) noexcept;

  /// Reads up to `most` bytes of the region into `file_start_`, to which the result refers.
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
