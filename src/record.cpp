// The bodies of record/.
#include "alloctap/record/impl/live_bytes.hpp"
#include "alloctap/record/impl/module_tracker.hpp"
#include "alloctap/record/impl/peak_tracker.hpp"
#include "alloctap/record/impl/thread_stats.hpp"
#include "alloctap/record/impl/thread_stats_table.hpp"
#include "alloctap/record/impl/timeline.hpp"
