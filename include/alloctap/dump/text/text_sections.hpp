/// Optional sections of a text report.
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

/// Functions that write optional sections. A function is nullptr if the tracker's config cannot
/// fill the section. The section's code is then not compiled into the program.
struct TextSections {
  /// Appends the stacks that the section shows. Returns false if out of memory.
  using ListStacks = bool(const Snapshot& snapshot, ArenaArray<StackId>& stacks);

  ListStacks* list_misuse_stacks = nullptr;
  /// Returns false if out of memory.
  bool (*sort_misuses)(const TextDump& dump, const TextParts& parts,
                       SortedMisuses& misuses) = nullptr;
  void (*write_guards)(const GuardPageStats& guards, DumpWriter& out) = nullptr;
  void (*write_misuse_totals)(const Snapshot& snapshot, const SortedMisuses& misuses,
                              DumpWriter& out) = nullptr;
  void (*write_misuses)(const Report& report, const SortedMisuses& misuses, const FrameList& frames,
                        DumpWriter& out) = nullptr;
  /// Writes owners, then calls `write_rest(context, parts)` with `parts.owners` set.
  void (*write_owners)(TextParts& parts, void (*write_rest)(const void* context, TextParts& parts),
                       const void* context) = nullptr;
  ListStacks* list_pool_stacks = nullptr;
  void (*write_pools)(const TextParts& parts) = nullptr;
  ListStacks* list_game_stacks = nullptr;
  void (*write_game)(const Report& report, const FrameList& frames, TextOwners& owners,
                     DumpWriter& out) = nullptr;
};

/// Each function sets the members of `sections` for the sections in its name. Control plane.
void add_misuse_sections(TextSections& sections) noexcept;
void add_owner_sections(TextSections& sections) noexcept;
void add_pool_sections(TextSections& sections) noexcept;
void add_game_sections(TextSections& sections) noexcept;

/// Writes the report that `dump` describes, with the optional `sections`.
void write_text(const TextDump& dump, const Report& report, const TextSections& sections,
                DumpWriter& out);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/text/impl/text_sections.hpp"
#endif
