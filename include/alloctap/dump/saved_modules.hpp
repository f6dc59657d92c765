/// Modules read from a recording.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/dump/record_reader.hpp"
#include "alloctap/dump/saved_stacks.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

/// Modules in the order of the recording. Uses arena memory; not thread-safe.
class SavedModules {
 public:
  /// Adds the module of a row. Returns false if out of memory.
  [[nodiscard]] bool add(const RecordReader& row) {
    Module module{.start = row.number("start"),
                  .end = row.number("end"),
                  .bias = row.number("bias"),
                  .path = row.text("path"),
                  .has_code = true,
                  .unloaded_before = static_cast<StackId>(row.number("unloaded_before"))};
    if (module.path.empty()) module.path = "?";
    for (const char byte : row.text("build_id").substr(0, sizeof module.build_id)) {
      module.build_id[module.build_id_bytes++] = static_cast<std::byte>(byte);
    }
    return read_.push_back(module);
  }

  /// Returns whether the module in row `number - 1` was unloaded; false if no such row exists.
  [[nodiscard]] bool is_unloaded(std::uint64_t number) const noexcept {
    return number > 0 && number <= read_.size() && read_[number - 1].is_unloaded();
  }

  /// Builds the module table. Call it after all stacks were read. Returns false if out of memory.
  [[nodiscard]] bool finish(const SavedStacks& stacks) {
    for (Module module : read_) {
      if (module.is_unloaded()) module.unloaded_before = stacks.id_from(module.unloaded_before);
      const bool added =
          module.is_unloaded() ? table_.add_unloaded(module) : table_.add_loaded(module);
      if (!added) return false;
    }
    return true;
  }

  [[nodiscard]] const ModuleTable& table() const noexcept { return table_; }

 private:
  ArenaArray<Module> read_;
  ModuleTable table_;
};

}  // namespace alloctap
