// The malloc family for this object alone: it keeps this object's memory apart from the program's
// while a report is written. And dlclose, by which the tracker is notified of unloaded modules.
#include <alloctap/event/event_sink.hpp>
#include <alloctap/event/offered_annotations.hpp>
#include <alloctap/hook/interposed_malloc.hpp>

#include "final_report.hpp"
#include "tracker_kind.hpp"

namespace alloctap::run {
namespace {

/// This object exports the annotations of the kind that counts by tags; others do not offer them.
void withhold_annotations(const TrackerKind* kind) noexcept {
  if (&kind_of_tags == nullptr || kind == &kind_of_tags) return;
  OfferedAnnotations::withhold(kind_of_tags.annotations());
}

/// Records nothing: the program's calls do not arrive here.
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
