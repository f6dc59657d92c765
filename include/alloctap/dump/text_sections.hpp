/// What a text report has of what not every tracker knows.
#pragma once

#include "alloctap/event/stack_id.hpp"

namespace alloctap {

class DumpWriter;
class FrameList;
class TextOwners;
struct GuardPageStats;
struct Report;
struct Snapshot;
struct SortedMisuses;
struct TextDump;
struct TextParts;
template <class T>
class ArenaArray;

/// Functions that write the sections, so that a program has code for those alone that its tracker
/// can fill: the others are nullptr.
struct TextSections {
  /// Adds the stacks that the section shows; false where the system has no memory.
  using ListStacks = bool(const Snapshot& snapshot, ArenaArray<StackId>& stacks);

  ListStacks* list_misuse_stacks = nullptr;
  /// False where the system has no memory.
  bool (*sort_misuses)(const TextDump& dump, const TextParts& parts,
                       SortedMisuses& misuses) = nullptr;
  void (*write_guards)(const GuardPageStats& guards, DumpWriter& out) = nullptr;
  void (*write_misuse_totals)(const Snapshot& snapshot, const SortedMisuses& misuses,
                              DumpWriter& out) = nullptr;
  void (*write_misuses)(const Report& report, const SortedMisuses& misuses, const FrameList& frames,
                        DumpWriter& out) = nullptr;
  /// Writes who holds what, and then calls `write_rest(context, parts)` with owners in `parts`.
  void (*write_owners)(TextParts& parts, void (*write_rest)(const void* context, TextParts& parts),
                       const void* context) = nullptr;
  ListStacks* list_pool_stacks = nullptr;
  void (*write_pools)(const TextParts& parts) = nullptr;
  ListStacks* list_game_stacks = nullptr;
  void (*write_game)(const Report& report, const FrameList& frames, TextOwners& owners,
                     DumpWriter& out) = nullptr;
};

/// Each adds its functions; may run anywhere but inside malloc.
void add_misuse_sections(TextSections& sections) noexcept;
void add_owner_sections(TextSections& sections) noexcept;
void add_pool_sections(TextSections& sections) noexcept;
void add_game_sections(TextSections& sections) noexcept;

/// Writes the report that `dump` describes, with these sections beside what all have.
void write_text(const TextDump& dump, const Report& report, const TextSections& sections,
                DumpWriter& out);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/text_sections.hpp"
#endif
