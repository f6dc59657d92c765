/// What a text report has in place of the stacks where rules suppress something.
#pragma once

namespace alloctap {

struct TextDump;
struct TextParts;

/// Writes it: for programs that give their dump suppressions.
void write_suppressed_text(const TextDump& dump, const TextParts& parts);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/text_suppressed.hpp"
#endif
