// Defines one kind of tracker, but for what the program's calls run through.
#include <alloctap/runtime/arena.hpp>
#include <alloctap/session.hpp>
#include <new>
#include <type_traits>
#include <utility>

#include "alloctap/status.hpp"
#include "final_report.hpp"
#include "if_linked.hpp"
#include "preload/misuse_line.hpp"
#include "run_tracker.hpp"
#include "signal_stacks.hpp"
#include "tracker_calls_of.hpp"
#include "tracker_kind.hpp"

namespace alloctap::run {
inline namespace ALLOCTAP_RUN_KIND {

ALLOCTAP_IF_LINKED Status install_redirecting_hook(HookChoice choice);

namespace {

bool start(const Settings& settings) noexcept {
  select_checks(settings.checks);
  ::alloctap::SinkOf<RunTracker>::record_mappings(settings.hook.mappings);
  static_cast<void>(RunConfig::Stack::select(name_of(kStackNames, settings.stack)));
  RunTracker::set_max_frames(settings.max_frames);
  choose_blocks(settings);
  limit_event_log(::alloctap::SinkOf<RunTracker>::queue(), settings.event_bytes);
  Result<Session> session = RunTracker::start();
  print_error(session.status());
  if (!session.ok()) return false;
  // Recording ends with the process.
  static_cast<void>(new (Arena::allocate(sizeof(Session))) Session(std::move(*session)));
  return true;
}

template <class Tags, class Pools, class Observers>
alloctap_slots offered() noexcept {
  alloctap_slots slots{};
  if constexpr (features_of<TagFeatures, Tags>().offer) Tags::offer(slots);
  if constexpr (Pools::kHears) Pools::offer(slots);
  if constexpr (kObserverFeatures<Observers>.offer) Observers::offer(slots);
  return slots;
}

using Calls = TrackerCallsOf<RunTracker>;

}  // namespace
}  // namespace ALLOCTAP_RUN_KIND

constexpr TrackerKind ALLOCTAP_KIND_OBJECT{
    .on_first_call = &::alloctap::SinkOf<RunTracker>::on_first_call,
    .start = &start,
    .install_redirecting_hook = &install_redirecting_hook,
    .annotations = &offered<RunTags, RunPools, RunObservers>,
    .on_modules_unloading = &::alloctap::SinkOf<RunTracker>::on_modules_unloading,
    .on_modules_unloaded = &::alloctap::SinkOf<RunTracker>::on_modules_unloaded,
    .take_snapshot = &Calls::take_snapshot,
    .dump = &Calls::dump,
    .live_bytes = &Calls::live_bytes,
    .add_timeline_point = &Calls::add_timeline_point,
    .has_leaks = &Calls::has_leaks,
    .has_misuses = &Calls::has_misuses,
    .verify_blocks = &Calls::verify_blocks,
    .found_misuse = &Calls::found_misuse,
    .has_guard_pages = &Calls::has_guard_pages,
};

void RunConfig::on_first_call() noexcept {
  if (read_settings() != nullptr) begin_run(ALLOCTAP_KIND_OBJECT);
}

void RunConfig::on_misuse(const Misuse& misuse) noexcept { print_misuse(misuse); }

void RunConfig::for_each_kept_pointer(void (*visit)(void*, const void*), void* context) noexcept {
  for_each_argument_to_come(visit, context);
}

}  // namespace alloctap::run
