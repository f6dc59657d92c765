/// Heap profiles read from files, and the difference of two profiles, of one process or two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/diff.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/stack_key.hpp"
#include "alloctap/status.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbols.hpp"

namespace alloctap {

/// A return address that occurs in stacks of the profile.
struct SavedFrame {
  static constexpr std::uint64_t kNoModule = std::numeric_limits<std::uint64_t>::max();

  /// The return address in the recorded process.
  std::uint64_t address = 0;
  /// The index of the module, or `kNoModule`. `offset` is the file offset of the call.
  std::uint64_t module = kNoModule;
  std::uint64_t offset = 0;
  /// The range of the frame's functions in `SavedProfile::sources`, innermost inlined one first.
  std::size_t first_source = 0;
  std::size_t sources = 0;
};

/// A stack and its sums. `sums.stack` is unused: it is not a StackId of this process.
struct SavedStack {
  StackSummary sums;
  /// The stack's range in `SavedProfile::frame_numbers`. Its frames are listed innermost first.
  std::size_t first_frame = 0;
  std::size_t frames = 0;
  bool outside_size_range = false;
  /// The path of the stack's tag; empty if the stack has no tag.
  std::string_view tag = {};
};

/// The contents of a profile file. Allocated in the arena. All strings refer to `text`. Move-only.
struct SavedProfile {
  std::uint64_t pid = 0;
  std::string_view executable;
  /// Time of the snapshot, in nanoseconds since the Unix epoch.
  std::uint64_t time_ns = 0;
  Totals totals;
  ArenaArray<Module> modules;
  ArenaArray<SavedFrame> frames;
  ArenaArray<SourceFrame> sources;
  ArenaArray<std::uint64_t> frame_numbers;
  ArenaArray<SavedStack> stacks;
  ArenaArray<char> text;

  /// Returns the frames of a stack as indices into `frames`, innermost first.
  [[nodiscard]] std::span<const std::uint64_t> frames_of(const SavedStack& stack) const noexcept {
    return {frame_numbers.data() + stack.first_frame, stack.frames};
  }
  /// Returns the functions of a frame, innermost inlined function first. Empty if unknown.
  [[nodiscard]] std::span<const SourceFrame> sources_of(const SavedFrame& frame) const noexcept {
    return {sources.data() + frame.first_source, frame.sources};
  }
  /// Returns the module of a frame, or nullptr if unknown.
  [[nodiscard]] const Module* module_of(const SavedFrame& frame) const noexcept {
    return frame.module == SavedFrame::kNoModule ? nullptr : &modules[frame.module];
  }
};

/// Criterion by which stacks of two profiles are equal.
enum class StackMatch : std::uint8_t {
  /// Equal code addresses in files with equal build-ids (`StackKey`).
  kPlaces,
  /// Equal function and file names, for different builds. May merge several stacks of one profile.
  kFunctions,
};

/// The hash keys of a profile's stacks. Refers to the profile.
class SavedStackKeys {
 public:
  SavedStackKeys(const SavedProfile& profile, StackMatch match) noexcept
      : profile_(profile), match_(match) {
    for (const Module& module : profile.modules) {
      complete_ = files_.push_back(file_of(module)) && complete_;
    }
  }

  /// Returns false if out of memory. The keys are then unusable.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  [[nodiscard]] StackKey of(const SavedStack& stack) const noexcept {
    const auto numbers = profile_.frames_of(stack);
    if (numbers.empty() && stack.tag.empty()) return key_without_frames(stack.outside_size_range);
    StackKeyMixer mixer;
    if (!stack.tag.empty()) mixer.add_tag(stack.tag);
    for (std::size_t i = numbers.size(); i-- > 0;) add(profile_.frames[numbers[i]], mixer);
    return mixer.key();
  }

 private:
  [[nodiscard]] StackHash file_of(const Module& module) const noexcept {
    if (match_ == StackMatch::kPlaces) {
      return hash_file({module.build_id, module.build_id_bytes}, module.path);
    }
    return hash_file({}, module.path.substr(module.path.rfind('/') + 1));
  }

  void add(const SavedFrame& frame, StackKeyMixer& mixer) const noexcept {
    if (frame.module == SavedFrame::kNoModule) return mixer.add_unknown(frame.address - 1);
    const auto sources = profile_.sources_of(frame);
    const std::string_view function =
        sources.empty() ? std::string_view() : sources.back().function;
    const bool by_name = match_ == StackMatch::kFunctions && !function.empty();
    mixer.add(files_[frame.module], by_name ? hash_file({}, function).first : frame.offset);
  }

  const SavedProfile& profile_;
  const StackMatch match_;
  /// File hashes, indexed by module.
  ArenaArray<StackHash> files_;
  bool complete_ = true;
};

struct SavedStackChange {
  HeapChange change;
  std::uint64_t live_bytes_before = 0;
  std::uint64_t live_bytes_after = 0;
  /// A stack with this key in the profile `before`; nullptr if that profile has no such stack.
  const SavedStack* before = nullptr;
  const SavedStack* after = nullptr;
};

/// Per-stack difference of two profiles. Refers to the profiles. Allocated in the arena.
struct ProfileDiff {
  /// The change of the sums over all stacks.
  HeapChange total;
  /// The stacks whose sums changed, in no order.
  ArenaArray<SavedStackChange> stacks;
};

/// Computes the difference of two profiles. Control plane.
class ProfileDiffer {
 public:
  /// Adds the later (if `is_after`) or the earlier profile. Returns false if out of memory.
  [[nodiscard]] bool add(const SavedProfile& profile, StackMatch match, bool is_after) {
    const SavedStackKeys keys(profile, match);
    if (!keys.complete()) return false;
    for (const SavedStack& stack : profile.stacks) {
      if (!entries_.push_back({keys.of(stack), &stack, is_after})) return false;
    }
    return true;
  }

  /// Returns the change between the two profiles. Fails if out of memory.
  [[nodiscard]] Result<ProfileDiff> find() {
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.key < b.key; });
    ProfileDiff result;
    for (std::size_t i = 0; i < entries_.size();) {
      SavedStackChange sum;
      for (const StackKey key = entries_[i].key; i < entries_.size() && entries_[i].key == key; ++i)
        add_to(sum, entries_[i]);
      if (sum.change == HeapChange{}) continue;
      result.total += sum.change;
      if (!result.stacks.push_back(sum)) {
        return Status::resource_exhausted("diff: the system has no memory for it");
      }
    }
    return result;
  }

 private:
  struct Entry {
    StackKey key;
    const SavedStack* stack;
    bool is_after;
  };

  static void add_to(SavedStackChange& sum, const Entry& entry) noexcept {
    const StackSummary& sums = entry.stack->sums;
    if (entry.is_after) {
      sum.after = entry.stack;
      sum.live_bytes_after += sums.live_bytes;
      sum.change += change_between({}, sums);
    } else {
      sum.before = entry.stack;
      sum.live_bytes_before += sums.live_bytes;
      sum.change += change_between(sums, {});
    }
  }

  ArenaArray<Entry> entries_;
};

/// Returns the change from `before` to `after`. Fails if out of memory.
[[nodiscard]] inline Result<ProfileDiff> diff(const SavedProfile& before, const SavedProfile& after,
                                              StackMatch match = StackMatch::kPlaces) {
  ProfileDiffer differ;
  if (!differ.add(before, match, false) || !differ.add(after, match, true)) {
    return Status::resource_exhausted("diff: the system has no memory for it");
  }
  return differ.find();
}

}  // namespace alloctap
