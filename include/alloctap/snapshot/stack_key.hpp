/// What a stack is called in every process that runs the same files.
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
#include "alloctap/runtime/text_hash.hpp"
#include "alloctap/snapshot/tag_paths.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

/// 128 bits that stand for a sequence of calls: for each the file that holds it and the place in
/// that file. So it is the same wherever the modules were loaded, and in another run; it is another
/// one where a module on the way was built anew.
struct StackKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  friend constexpr auto operator<=>(const StackKey&, const StackKey&) noexcept = default;
};

/// The hash of a file: of its build-id, or of its path where it has none.
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

/// Mixes a key frame by frame, the outermost call first.
class StackKeyMixer {
 public:
  /// That the stack belongs to the tag with that path, which comes before all calls.
  void add_tag(std::string_view path) noexcept {
    hash_ = hash_.with(3).with(path.size()).with(hash_text(path));
  }

  /// A call at `offset` in the file with that hash.
  void add(const StackHash& file, std::uint64_t offset) noexcept {
    hash_ = hash_.with(file.first).with(file.second).with(offset);
  }

  /// A call in no file, of which nothing but its address in the process is known: code that the
  /// program made itself. Only by chance is it the same in another process.
  void add_unknown(std::uint64_t address) noexcept { hash_ = hash_.with(0).with(address); }

  [[nodiscard]] StackKey key() const noexcept { return {hash_.first, hash_.second}; }

 private:
  StackHash hash_;
};

/// What stacks without frames are called: the unknown one, and that of blocks whose size is outside
/// of the range that stacks are taken of.
[[nodiscard]] constexpr StackKey key_without_frames(bool outside_size_range) noexcept {
  return {0, outside_size_range ? std::uint64_t{2} : 1};
}

/// The keys of one process's stacks. Refers to `modules`, which has those that were unloaded too
/// (`Tracker::modules`). With `tags`, those of the snapshot, the same calls in another tag have
/// another key; threads do not count, as they are others in every run. Memory from the arena.
/// Control plane.
class StackKeys {
 public:
  explicit StackKeys(const ModuleTable& modules, const TagTable* tags = nullptr) noexcept
      : modules_(modules), tags_(tags) {
    for (const Module& module : modules.modules()) {
      const std::span<const std::byte> build_id(module.build_id, module.build_id_bytes);
      complete_ = files_.push_back(hash_file(build_id, module.path)) && complete_;
    }
  }

  /// False: the system had no memory for them, and nothing else may be asked.
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
  /// By module.
  ArenaArray<StackHash> files_;
  bool complete_ = true;
};

}  // namespace alloctap
