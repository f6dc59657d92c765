/// Implementation header for one source file of a program: the bodies of alloctap.hpp and the
/// portable policies. Other hook backends, and dumps and symbolizers with dependencies, have to be
/// included separately: see README.md in this folder.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

#include "alloctap/alloctap.hpp"
#include "alloctap/check/checks.hpp"
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
#include "alloctap/fail/injected_failures.hpp"
#include "alloctap/hook/manual_hook.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/meta/aged_index.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/meta_container.hpp"
#include "alloctap/meta/shadow_index.hpp"
#include "alloctap/queue/buffer_queue.hpp"
#include "alloctap/queue/direct_queue.hpp"
#include "alloctap/queue/logging_queue.hpp"
#include "alloctap/sample/adjustable_sampling.hpp"
#include "alloctap/sample/poisson_by_bytes.hpp"
#include "alloctap/sample/sampling_policy.hpp"
#include "alloctap/sample/size_range.hpp"
#include "alloctap/snapshot/by_module.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/snapshot/malloc_leak_info.hpp"
#include "alloctap/snapshot/stack_key.hpp"
#include "alloctap/stack/backtrace_stack.hpp"
#include "alloctap/stack/frame_pointer_stack.hpp"
#include "alloctap/stack/full_unwind_stack.hpp"
#include "alloctap/stack/selectable_stack.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/symbol/symbolizer.hpp"
#include "alloctap/symbol/system_symbolizer.hpp"
#include "alloctap/tag/scoped_tags.hpp"
#include "alloctap/tag/tag_policy.hpp"
#include "alloctap/tag/tag_scope.hpp"
#include "alloctap/tag/tags_and_threads.hpp"
#include "alloctap/tag/thread_owners.hpp"

namespace alloctap {

/// Instantiates the functions that the options of dump `Policy` can call, for files that see only
/// declarations.
template <class Policy>
struct CalledByOptions {};
template <>
struct CalledByOptions<TextDump> {
  void (*write_suppressed)(const TextDump&, const TextParts&) = &SuppressedText<>::write;
};

/// Instantiates the functions that write dump `Policy`, for files that see only declarations.
template <class Tracker, class Policy>
struct KeptDump {
  Status (*now)(const Policy&, OutputRef) = &Tracker::template dump<Policy>;
  Status (*later)(const Snapshot&, const Policy&, OutputRef) = &Tracker::template dump<Policy>;
  CalledByOptions<Policy> options;
};

/// Instantiates the output functions, by taking their addresses. An explicit instantiation
/// definition may occur only once, but one file may implement several trackers.
struct KeptOutputs {
  using Calls = OutputCalls<>;
  Status (*write_to_descriptor)(int, std::string_view) = &Calls::write;
  OutputFile* (*make_file)(std::string_view) noexcept = &Calls::make_file;
  Status (*open_file)(OutputFile*) = &Calls::open;
  Status (*write_to_file)(OutputFile*, std::string_view) = &Calls::write;
  Status (*commit_file)(OutputFile*) = &Calls::commit;
  void (*end_file)(OutputFile*) noexcept = &Calls::end;
  Status (*open_text)(OutputText*&) = &Calls::open;
  Status (*write_to_text)(OutputText*&, std::string_view) = &Calls::write;
  std::string_view (*view_text)(const OutputText*) noexcept = &Calls::view;
  void (*end_text)(OutputText*) noexcept = &Calls::end;
};

/// Instantiates everything that files with only declarations may call. `Policies` may have
/// duplicates. `Implemented::defined_here` is defined once, so a second implementation of the same
/// tracker in the program fails to link.
template <class Tracker, class... Policies>
struct Implementation {
  static inline const std::tuple<KeptDump<Tracker, Policies>...> dumps{};
  static inline const KeptOutputs outputs{};
};
template <class Tracker>
struct Implemented {
  static void defined_here() noexcept;
};

}  // namespace alloctap

/// ALLOCTAP_IMPLEMENT declares this type again. Inside a namespace, that would declare another
/// type, which the macro detects.
struct AlloctapImplementPlace;

/// Instantiates a tracker and the listed dump policies. If several files call the tracker, place
/// the macro in one of them, outside of namespaces. A call of a dump that is not listed does not
/// link: "undefined reference to alloctap::Tracker<...>::dump<...>". Two uses for one tracker do
/// not link either. One file may implement several trackers. Programs of a single file do not need
/// this macro.
///
///     ALLOCTAP_IMPLEMENT(Tracker, alloctap::TextDump, alloctap::HtmlDump)
#define ALLOCTAP_IMPLEMENT(TrackerType, ...)                                          \
  struct AlloctapImplementPlace;                                                      \
  static_assert(std::is_same_v<AlloctapImplementPlace, ::AlloctapImplementPlace>,     \
                "ALLOCTAP_IMPLEMENT must be placed outside of namespaces");           \
  template class ::alloctap::Tracker<typename TrackerType::ConfigType>;               \
  template struct ::alloctap::Implementation<TrackerType __VA_OPT__(, ) __VA_ARGS__>; \
  template <>                                                                         \
  void ::alloctap::Implemented<TrackerType>::defined_here() noexcept {}               \
  static_assert(true)
