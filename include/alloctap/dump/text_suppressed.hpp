/// Leaks and suppressions in a text report.
#pragma once

namespace alloctap {

struct TextDump;
struct TextParts;

/// Writes them in place of the live stacks; compiled only if a program sets suppressions.
void write_suppressed_text(const TextDump& dump, const TextParts& parts);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/text_suppressed.hpp"
#endif
