/// Stack keys that are equal in different runs of a program.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_bytes.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

/// A 128-bit hash of a stack: the file and the file offset of each call. Independent of load
/// addresses, so it is equal in different runs. It changes if a module on the stack is rebuilt.
struct StackKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  friend constexpr auto operator<=>(const StackKey&, const StackKey&) noexcept = default;
};

/// Returns the hash of a file's build-id, or of its path if the file has no build-id.
[[nodiscard]] inline StackHash hash_file(std::span<const std::byte> build_id,
                                         std::string_view path) noexcept {
  const bool has_id = !build_id.empty();
  const auto* bytes = has_id ? reinterpret_cast<const char*>(build_id.data()) : path.data();
  const std::size_t length = has_id ? build_id.size() : path.size();
  StackHash hash = StackHash{}.with(has_id ? 1 : 2).with(length);
  for (std::size_t i = 0; i < length; i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, std::min(sizeof word, length - i));
    hash = hash.with(word);
  }
  return hash;
}

/// Hashes a stack frame by frame, outermost first.
class StackKeyMixer {
 public:
  /// Adds the path of the stack's tag. Must precede all calls of `add`.
  void add_tag(std::string_view path) noexcept {
    hash_ = hash_.with(3).with(path.size()).with(hash_text(path));
  }

  /// Adds a call at file offset `offset` in the file with hash `file`.
  void add(const StackHash& file, std::uint64_t offset) noexcept {
    hash_ = hash_.with(file.first).with(file.second).with(offset);
  }

  /// Adds a call in code outside all files (JIT). The key then differs between processes.
  void add_unknown(std::uint64_t address) noexcept { hash_ = hash_.with(0).with(address); }

  [[nodiscard]] StackKey key() const noexcept { return {hash_.first, hash_.second}; }

 private:
  StackHash hash_;
};

/// Returns the key of a stack without frames. The frames are unknown or, if `outside_size_range`,
/// were not captured because of the block's size.
[[nodiscard]] constexpr StackKey key_without_frames(bool outside_size_range) noexcept {
  return {0, outside_size_range ? std::uint64_t{2} : 1};
}

/// The keys of all stacks of this process. If `tags` is set, a key depends on the stack's tag. Keys
/// never depend on the thread, which differs between runs. Refers to `modules`
/// (`Tracker::modules`), which must include unloaded modules. Allocated in the arena. Control
/// plane.
class StackKeys {
 public:
  explicit StackKeys(const ModuleTable& modules, const TagTable* tags = nullptr) noexcept
      : modules_(modules), tags_(tags) {
    for (const Module& module : modules.modules()) {
      const std::span<const std::byte> build_id(module.build_id, module.build_id_bytes);
      complete_ = files_.push_back(hash_file(build_id, module.path)) && complete_;
    }
  }

  /// Returns false if out of memory. The keys are then unusable.
  [[nodiscard]] bool complete() const noexcept { return complete_ && tags_.complete(); }

  [[nodiscard]] StackKey of(const StackTable& table, StackId stack) const noexcept {
    const auto frames = table.frames(stack);
    const std::string_view tag = tags_.of(table.owner(stack).tag);
    if (frames.empty() && tag.empty()) return key_without_frames(stack == kStackNotTaken);
    StackKeyMixer mixer;
    if (!tag.empty()) mixer.add_tag(tag);
    for (std::size_t i = frames.size(); i-- > 0;) {
      const std::uintptr_t call = call_address(frames[i]);
      const Module* module = modules_.find(call, stack);
      if (module == nullptr) {
        mixer.add_unknown(call);
      } else {
        mixer.add(files_[modules_.index_of(*module)], call - module->bias);
      }
    }
    return mixer.key();
  }

 private:
  const ModuleTable& modules_;
  TagPaths tags_;
  /// File hashes, indexed by module.
  ArenaArray<StackHash> files_;
  bool complete_ = true;
};

}  // namespace alloctap
