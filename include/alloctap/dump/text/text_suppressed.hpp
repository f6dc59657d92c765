/// Leaks and suppressions in a text report.
#pragma once

namespace alloctap {

struct TextDump;
struct TextParts;

/// Writes leaks and suppressions in place of live stacks; compiled only if suppressions are set.
void write_suppressed_text(const TextDump& dump, const TextParts& parts);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/text/impl/text_suppressed.hpp"
#endif
