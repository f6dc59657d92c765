/// Every dump policy, for what all of them must do.
#pragma once

#include <tuple>

#include "alloctap/dump/android_heap_dump.hpp"
#include "alloctap/dump/chrome_trace_dump.hpp"
#include "alloctap/dump/dhat_dump.hpp"
#include "alloctap/dump/dump_formats.hpp"
#include "alloctap/dump/folded_dump.hpp"
#include "alloctap/dump/heaptrack_dump.hpp"
#include "alloctap/dump/html_dump.hpp"
#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/massif_dump.hpp"
#include "alloctap/dump/matrix_dump.hpp"
#include "alloctap/dump/matrix_log_dump.hpp"
#include "alloctap/dump/pprof_dump.hpp"
#include "alloctap/dump/record_dump.hpp"
#include "alloctap/dump/speedscope_dump.hpp"
#include "alloctap/dump/text_dump.hpp"

namespace alloctap::testing {

template <class... Rows>
std::tuple<typename Rows::Policy...> policies_of(const std::tuple<Rows...>&);

using AllDumps = decltype(policies_of(kDumpFormats));

}  // namespace alloctap::testing
