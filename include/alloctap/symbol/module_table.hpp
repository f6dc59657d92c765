/// The modules of the process: which file an address belongs to, and where in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/guard/arena_array.hpp"
#include "alloctap/guard/text_pool.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/pe/native_image.hpp"

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
  [[nodiscard]] static ModuleTable read() noexcept {
    ModuleTable table;
    ArenaArray<char> buffer;
    if (!buffer.reserve(kBufferBytes) || !table.file_start_.resize(kFileStartBytes)) {
      table.reading_ = ModuleReading::kNoMemory;
      return table;
    }
    const bool readable =
        os::visit_memory_map({buffer.data(), kBufferBytes}, [&](const os::MemoryRegion& region) {
          table.visit(region);
          return table.reading_ == ModuleReading::kComplete;
        });
    if (!readable) table.reading_ = ModuleReading::kUnreadable;
    table.forget_data();
    return table;
  }

  /// How `read` went.
  [[nodiscard]] ModuleReading reading() const noexcept { return reading_; }

  /// The loaded module that holds `address`, or nullptr.
  [[nodiscard]] const Module* find(std::uintptr_t address) const noexcept {
    const auto* above = std::upper_bound(
        modules_.begin(), modules_.begin() + loaded_, address,
        [](std::uintptr_t value, const Module& module) { return value < module.start; });
    if (above == modules_.begin() || !(above - 1)->contains(address)) return nullptr;
    return above - 1;
  }

  /// The module that held `address` when `stack` was recorded, or nullptr.
  [[nodiscard]] const Module* find(std::uintptr_t address, StackId stack) const noexcept {
    const Module* unloaded = find_unloaded(address, stack);
    return unloaded != nullptr ? unloaded : find(address);
  }

  /// Of the unloaded modules, the one that held `address` when `stack` was recorded, or nullptr.
  [[nodiscard]] const Module* find_unloaded(std::uintptr_t address, StackId stack) const noexcept {
    for (const Module& module : modules().subspan(loaded_)) {
      if (stack < module.unloaded_before && module.contains(address)) return &module;
    }
    return nullptr;
  }

  /// Those that are loaded by ascending address, then the unloaded ones as they went.
  [[nodiscard]] std::span<const Module> modules() const noexcept {
    return {modules_.data(), modules_.size()};
  }

  [[nodiscard]] std::span<const Module> loaded() const noexcept { return modules().first(loaded_); }

  /// Adds a loaded module above all others, before any that was unloaded: for tables that were
  /// saved.
  [[nodiscard]] bool add_loaded(const Module& module) noexcept {
    if (!add_unloaded(module)) return false;
    loaded_ = modules_.size();
    return true;
  }

  /// Adds a module that was unloaded after all others that were added.
  [[nodiscard]] bool add_unloaded(const Module& module) noexcept {
    Module added = module;
    added.path = paths_.keep(module.path);
    return added.path.size() == module.path.size() && modules_.push_back(added);
  }

  /// The position of `module`, an element of this table.
  [[nodiscard]] std::size_t index_of(const Module& module) const noexcept {
    return static_cast<std::size_t>(&module - modules_.data());
  }

 private:
  static constexpr std::size_t kBufferBytes = 256 * 1024;
  /// Linkers put headers and build-ids into the first page, or into one of the next.
  static constexpr std::size_t kFirstPageBytes = 4 * 1024;
  static constexpr std::size_t kFileStartBytes = 4 * kFirstPageBytes;

  void visit(const os::MemoryRegion& region) noexcept {
    const bool may_start =
        region.file_offset == 0 && region.readable && os::may_hold_module(region);
    if (may_start) add(region);
    if (region.executable && !modules_.empty() && modules_.back().contains(region.start)) {
      modules_.back().has_code = true;
    }
  }

  /// From the first `most` bytes; what it points to is in `file_start_`.
  auto read_image(const os::MemoryRegion& region, std::size_t most) noexcept {
    const std::size_t bytes = os::copy_memory(
        region.start, {file_start_.data(), std::min(most, region.end - region.start)});
    return native::read_mapped_image({file_start_.data(), bytes}, region.start);
  }

  void add(const os::MemoryRegion& region) noexcept {
    auto image = read_image(region, kFirstPageBytes);
    if (!image || image->build_id.empty()) image = read_image(region, kFileStartBytes);
    if (!image) return;
    Module module;
    module.start = region.start;
    module.end = image->end;
    module.bias = image->bias;
    module.build_id_bytes = std::min(sizeof module.build_id, image->build_id.size());
    if (module.build_id_bytes > 0) {
      std::memcpy(module.build_id, image->build_id.data(), module.build_id_bytes);
    }
    module.is_gone = region.is_gone;
    module.path = paths_.keep(region.path);
    if (module.path.empty() || !modules_.push_back(module)) reading_ = ModuleReading::kNoMemory;
  }

  void forget_data() noexcept {
    ArenaArray<Module> with_code;
    for (const Module& module : modules_) {
      if (module.has_code && !with_code.push_back(module)) reading_ = ModuleReading::kNoMemory;
    }
    modules_ = std::move(with_code);
    loaded_ = modules_.size();
  }

  ArenaArray<Module> modules_;
  std::size_t loaded_ = 0;
  ModuleReading reading_ = ModuleReading::kComplete;
  TextPool paths_;
  ArenaArray<std::byte> file_start_;
};

}  // namespace alloctap
