/// Chrome's trace event format in JSON, for the Perfetto UI, chrome://tracing and Tracy's importer.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/chrome_trace_dump.hpp"
#endif
