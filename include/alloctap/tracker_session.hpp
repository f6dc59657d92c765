/// Sessions of a tracker, and the marks and pauses of annotate.h that reach every session.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "alloctap/annotate.h"
#include "alloctap/config.hpp"
#include "alloctap/event/address_range.hpp"
#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/event/policy_features.hpp"
#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/record/checking_recorder.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/sample/sampling_policy.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/tag_policy.hpp"
#include "alloctap/tag/tag_scope.hpp"
#include "alloctap/tracker_snapshot.hpp"

namespace alloctap {

/// Forwards the marks and pauses of annotate.h to the trackers that have a session. Has a lock-free
/// list of all trackers that ever had a session. Constant-initialized, never destroyed;
/// thread-safe. Control plane.
class SessionAnnotations {
 public:
  /// The functions of one tracker, which do nothing without a session. Never destroyed.
  struct Tracker {
    void (*mark)(std::string_view name) noexcept;
    void (*pause)() noexcept;
    void (*resume)() noexcept;
    std::atomic<bool> is_known{false};
    const Tracker* next = nullptr;
  };

  /// Adds a tracker; does nothing if it was added before.
  static void add(Tracker& tracker) noexcept {
    if (tracker.is_known.exchange(true, std::memory_order_relaxed)) return;
    tracker.next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(tracker.next, &tracker, std::memory_order_release)) {
    }
  }

  static void mark(const char* name, std::size_t length) noexcept {
    for_each([text = annotated_text(name, length)](const Tracker& one) { one.mark(text); });
  }
  static void pause() noexcept {
    for_each([](const Tracker& one) { one.pause(); });
  }
  static void resume() noexcept {
    for_each([](const Tracker& one) { one.resume(); });
  }

 private:
  static void for_each(auto&& visit) noexcept {
    for (const Tracker* one = first_.load(std::memory_order_acquire); one != nullptr;
         one = one->next) {
      visit(*one);
    }
  }

  static inline constinit std::atomic<const Tracker*> first_{nullptr};
};

}  // namespace alloctap

/// The function table for sessions of annotate.h.
extern "C" ALLOCTAP_EXPORT inline constexpr alloctap_session_functions alloctap_sessions{
    .size = sizeof(alloctap_session_functions),
    .mark = &alloctap::SessionAnnotations::mark,
    .pause = &alloctap::SessionAnnotations::pause,
    .resume = &alloctap::SessionAnnotations::resume,
};

namespace alloctap {

/// Implements sessions: prepares the tracker and installs its hook, or undoes both. Control plane.
template <class Config>
class TrackerSession {
  static_assert(CheckedConfig<Config>::ok);
  using Hook = typename Config::Hook;
  using Observers = typename Config::Observers;
  using Pools = typename Config::Pools;
  using Sink = RecorderOf<Config>;

 public:
  [[nodiscard]] static bool running() noexcept { return running_.load(std::memory_order_acquire); }

  /// Starts the session; the caller holds the control lock.
  static Status start_locked() {
    if (running()) {
      return Status::failed_precondition("this tracker has a session already; end that one first");
    }
    constexpr HookTarget target = Hook::capabilities.target;
    const std::string_view* holder = HookClaims::claim(target, kHookName);
    if (holder != nullptr) {
      return Status::failed_precondition(
          "cannot install the hook \"", std::string(kHookName),
          "\": another tracker has the hook \"", std::string(*holder),
          "\" on the process's allocator; two would count one call twice. End its session first");
    }
    ScopeExit give_back{[]() noexcept { HookClaims::release(target); }};
    WorldGate::initialize();
    leave_out_own_module();
    Sink::begin_session();
    Status status = prepare();
    if (!status.ok()) return status;
    give_back.forget();
    SessionAnnotations::add(annotations_);
    running_.store(true, std::memory_order_release);
    if constexpr (kObserverFeatures<Observers>.on_start) Observers::on_start();
    if constexpr (Pools::kHears) Pools::template For<Sink>::on_start();
    TrackerSnapshot<Config>::note_start();
    Sink::timeline().add_point_locked(Sink::data());
    return Status();
  }

  /// Publishes to every module the function tables of annotate.h that this tracker implements. The
  /// caller must not hold the control lock: another thread may hold the loader's lock while it
  /// waits for the control lock.
  static void offer_annotations() noexcept {
    alloctap_slots slots{};
    slots.sessions = &alloctap_sessions;
    let_offer<TagFeatures, typename Config::Tags>(slots);
    // Failure rules may refer to tags, even without a tag policy.
    if constexpr (Config::Failures::kFails) slots.tags = &alloctap_tags;
    let_offer<StackFeatures, typename Config::Stack>(slots);
    let_offer<ObserverFeatures, Observers>(slots);
    if constexpr (Pools::kHears) Pools::offer(slots);
    OfferedAnnotations::offer(slots);
  }

  /// Stops the session. Acquires the control lock. If called inside a dump, whose thread holds that
  /// lock, returns at once; the session then stops when the dump has ended.
  static void stop() noexcept {
    if (holds_tracker_lock()) return ControlScope::defer(deferred_stop_);
    const ReentrancyGuard guard;
    Sink::modules().unwatch();
    const ControlScope hold;
    Hook::uninstall();
    Sink::end_session();
    if constexpr (kObserverFeatures<Observers>.on_stop) Observers::on_stop();
    if constexpr (Pools::kHears) Pools::template For<Sink>::on_stop();
    Sink::queue().stop();
    HookClaims::release(Hook::capabilities.target);
    running_.store(false, std::memory_order_release);
  }

 private:
  /// A scope guard that runs an action unless `forget` was called. Undoes steps of a start that
  /// fails or ends by std::bad_alloc.
  class ScopeExit {
   public:
    explicit ScopeExit(void (*action)() noexcept) noexcept : action_(action) {}
    ~ScopeExit() {
      if (action_ != nullptr) action_();
    }
    ScopeExit(const ScopeExit&) = delete;
    ScopeExit& operator=(const ScopeExit&) = delete;
    void forget() noexcept { action_ = nullptr; }

   private:
    void (*action_)() noexcept;
  };

  template <class Features, class Policy>
  static void let_offer(alloctap_slots& slots) noexcept {
    if constexpr (features_of<Features, Policy>().offer) Policy::offer(slots);
  }

  static void leave_out_own_module() noexcept {
    if constexpr (features_of<ConfigFeatures, Config>().own_module) {
      const std::span<const char> module = Config::own_module();
      const auto start = reinterpret_cast<std::uintptr_t>(module.data());
      internal_code.add({start, start + module.size()});
    }
  }

  static Status prepare() {
    if (!os::ThreadLocal<ThreadSlot>::is_own()) {
      return Status::resource_exhausted(
          "no thread-local storage is left in this process for the tracker's own use");
    }
    if (!ForkHandlers::install(&in_forked_child)) {
      return Status::resource_exhausted(
          "cannot register handlers for fork: no memory, or too many trackers in one process");
    }
    Status status = prepare_checks<Config>();
    if (status.ok()) status = Sink::queue().start(Config::limits.max_queue_bytes);
    if (!status.ok()) return status;
    ScopeExit stop_queue{[]() noexcept { Sink::queue().stop(); }};
    ScopeExit uninstall{[]() noexcept { Hook::uninstall(); }};
    status = Hook::template install<Sink>();
    uninstall.forget();
    if (status.ok()) stop_queue.forget();
    return status;
  }

  static void in_forked_child() noexcept {
    Sink::after_fork();
    if constexpr (features_of<SamplingFeatures, typename Config::Sampling>().after_fork)
      Config::Sampling::after_fork();
  }

  static constexpr std::string_view kHookName = Hook::name;
  static inline constinit SessionAnnotations::Tracker annotations_{
      .mark =
          [](std::string_view name) noexcept {
            if (running()) Sink::timeline().mark(name);
          },
      .pause =
          []() noexcept {
            if (running()) Sink::mode().pause();
          },
      .resume = []() noexcept { Sink::mode().resume(); },
  };
  static inline constinit ControlScope::Deferred deferred_stop_{&stop};
  static inline constinit std::atomic<bool> running_{false};
};

}  // namespace alloctap
