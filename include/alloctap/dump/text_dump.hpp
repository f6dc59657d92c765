/// Text report for people, with the sections that the tracker's config can fill.
#pragma once

#include "alloctap/dump/dumps.hpp"
#include "alloctap/dump/text/text_sections.hpp"
#include "alloctap/dump/text/text_suppressed.hpp"

namespace alloctap {

template <class AnyReport>
void TextDump::write(const AnyReport& report, DumpWriter& out) const {
  TextSections sections;
  if constexpr (AnyReport::features.misuses) add_misuse_sections(sections);
  if constexpr (AnyReport::features.owners || AnyReport::features.game_frames) {
    add_owner_sections(sections);
  }
  if constexpr (AnyReport::features.pools) add_pool_sections(sections);
  if constexpr (AnyReport::features.game_frames) add_game_sections(sections);
  write_text(*this, report, sections, out);
}

template <class Anything>
void SuppressedText<Anything>::write(const TextDump& dump, const TextParts& parts) {
  write_suppressed_text(dump, parts);
}

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/text_dump.hpp"
#endif
