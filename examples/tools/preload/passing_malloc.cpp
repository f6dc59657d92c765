// The functions that stand in front of the allocator's for this object alone, which keep its memory
// apart from the program's while a report is written; and those by which the tracker hears of
// modules that the program closes.
#include <alloctap/event/event_sink.hpp>
#include <alloctap/event/offered_annotations.hpp>
#include <alloctap/hook/interposed_malloc.hpp>

#include "final_report.hpp"
#include "tracker_kind.hpp"

namespace alloctap::run {
namespace {

/// The loader gives programs what this object exports for the kind that counts by tags.
void withhold_annotations(const TrackerKind* kind) noexcept {
  if (&kind_of_tags == nullptr || kind == &kind_of_tags) return;
  OfferedAnnotations::withhold(kind_of_tags.annotations());
}

/// Records nothing: what the program calls does not come here.
struct PassingSink : EventSinkArchetype {
  static void on_first_call() noexcept {
    const Settings* const settings = read_settings();
    const TrackerKind* const kind = settings != nullptr ? kind_for(*settings) : nullptr;
    withhold_annotations(kind);
    if (settings == nullptr) return;
    if (kind != nullptr) return kind->on_first_call();
    print_line("this build of alloctap-run has no such tracker for this hook; nothing is tracked");
  }
  static void on_modules_unloading() noexcept { tracker_kind().on_modules_unloading(); }
  static void on_modules_unloaded() noexcept { tracker_kind().on_modules_unloaded(); }
};

struct PassingTracker {
  using Sink = PassingSink;
};

}  // namespace

void find_originals() noexcept { InterposedOriginals<PassingSink>::find_all_once(); }

}  // namespace alloctap::run

using alloctap::run::PassingTracker;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(PassingTracker);
