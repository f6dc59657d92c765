/// What one file of a program includes: the bodies of what alloctap.hpp declares, and the portable
/// policies that a `Config` can name. Hook backends other than the manual one, and dumps and
/// symbolizers that need a library, are included one by one: see README.md beside this file.
#pragma once

#include "alloctap/alloctap.hpp"
#include "alloctap/check/expand.hpp"
#include "alloctap/check/level_presets.hpp"
#include "alloctap/check/parse_check_options.hpp"
#include "alloctap/check/selectable_checks.hpp"
#include "alloctap/config.hpp"
#include "alloctap/dump/android_heap_dump.hpp"
#include "alloctap/dump/folded_dump.hpp"
#include "alloctap/dump/heaptrack_dump.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/massif_dump.hpp"
#include "alloctap/dump/matrix_log_dump.hpp"
#include "alloctap/dump/record_dump.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/fail/function_range.hpp"
#include "alloctap/fail/injected_failures.hpp"
#include "alloctap/hook/manual_hook.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/meta/aged_index.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/memory_meta_container.hpp"
#include "alloctap/meta/shadow_index.hpp"
#include "alloctap/meta/spaced_shadow_index.hpp"
#include "alloctap/queue/buffer_queue.hpp"
#include "alloctap/queue/direct_queue.hpp"
#include "alloctap/queue/logging_queue.hpp"
#include "alloctap/sample/adjustable_sampling.hpp"
#include "alloctap/sample/every_allocation.hpp"
#include "alloctap/sample/poisson_by_bytes.hpp"
#include "alloctap/sample/size_range.hpp"
#include "alloctap/snapshot/by_module.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/snapshot/malloc_leak_info.hpp"
#include "alloctap/snapshot/stack_key.hpp"
#include "alloctap/snapshot/tag_paths.hpp"
#include "alloctap/stack/backtrace_stack.hpp"
#include "alloctap/stack/frame_pointer_stack.hpp"
#include "alloctap/stack/full_unwind_stack.hpp"
#include "alloctap/stack/no_stack.hpp"
#include "alloctap/stack/selectable_stack.hpp"
#include "alloctap/symbol/no_symbolizer.hpp"
#include "alloctap/symbol/system_symbolizer.hpp"
#include "alloctap/tag/no_tags.hpp"
#include "alloctap/tag/scoped_tags.hpp"
#include "alloctap/tag/tag_scope.hpp"
#include "alloctap/tag/tags_and_threads.hpp"
#include "alloctap/tag/thread_owners.hpp"

namespace alloctap {

/// What the options of a dump may call beside what writes it.
template <class Policy>
struct CalledByOptions {};
template <>
struct CalledByOptions<TextDump> {
  void (*write_suppressed)(const TextDump&, const TextParts&) = &SuppressedText<>::write;
};

/// Keeps what writes a `Policy` for files that do not have its body.
template <class Tracker, class Policy>
struct KeptDump {
  Status (*now)(const Policy&, OutputRef) = &Tracker::template dump<Policy>;
  Status (*later)(const Snapshot&, const Policy&, OutputRef) = &Tracker::template dump<Policy>;
  CalledByOptions<Policy> options;
};

/// Keeps all that files without bodies may call. Of one tracker there may be one in a program:
/// `defined_here` is defined in one file.
template <class Tracker, class... Policies>
struct Implementation {
  struct Dumps : KeptDump<Tracker, Policies>... {};
  static inline const Dumps dumps{};
};
template <class Tracker>
struct Implemented {
  static void defined_here() noexcept;
};

}  // namespace alloctap

/// Stands in one file of a program, outside of namespaces, where others call functions of the
/// tracker: compiles these, and what writes each of the dump policies that follow its name. A dump
/// that is not among them does not link: "undefined reference to
/// alloctap::Tracker<...>::dump<...>". Two files with it do not link either. A program of one file
/// does not need it.
///
///     ALLOCTAP_IMPLEMENT(Tracker, alloctap::TextDump, alloctap::HtmlDump)
#define ALLOCTAP_IMPLEMENT(TrackerType, ...)                                          \
  template class ::alloctap::Tracker<typename TrackerType::ConfigType>;               \
  template struct ::alloctap::OutputCalls<>;                                          \
  template struct ::alloctap::Implementation<TrackerType __VA_OPT__(, ) __VA_ARGS__>; \
  template <>                                                                         \
  void ::alloctap::Implemented<TrackerType>::defined_here() noexcept {}               \
  static_assert(true)
