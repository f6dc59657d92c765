/// Definitions for dump/text/text_suppressed.hpp.
#pragma once

#include "alloctap/dump/text/text_report.hpp"
#include "alloctap/dump/text/text_suppressed.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE void write_suppressed_text(const TextDump& dump, const TextParts& parts) {
  TextDumpWriter(dump).write_suppressed(parts);
}

}  // namespace alloctap
