#include "chosen_dump.hpp"

#include <alloctap/dump/android_heap_dump.hpp>
#include <alloctap/dump/chrome_trace_dump.hpp>
#include <alloctap/dump/dhat_dump.hpp>
#include <alloctap/dump/folded_dump.hpp>
#include <alloctap/dump/heaptrack_dump.hpp>
#include <alloctap/dump/html_dump.hpp>
#include <alloctap/dump/json_dump.hpp>
#include <alloctap/dump/massif_dump.hpp>
#include <alloctap/dump/matrix_dump.hpp>
#include <alloctap/dump/matrix_log_dump.hpp>
#include <alloctap/dump/pprof_dump.hpp>
#include <alloctap/dump/record_dump.hpp>
#include <alloctap/dump/speedscope_dump.hpp>
#include <alloctap/dump/text_dump.hpp>

namespace alloctap::run {

void ChosenDump::write(const Report& report, DumpWriter& writer) const {
  for_each_dump_format([&]<class Row>(const Row&, std::size_t index) {
    if (format != DumpFormat(index)) return;
    typename Row::Policy policy{};
    if constexpr (requires { policy.leaks; }) {
      policy.suppressions = suppressions;
      policy.leaks = leaks;
    }
    policy.write(report, writer);
  });
}

}  // namespace alloctap::run
