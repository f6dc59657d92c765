/// Observers that come and go while the program runs.
#pragma once

#include <atomic>
#include <mutex>

#include "alloctap/observe/observer.hpp"
#include "alloctap/runtime/control_lock.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// What a listed observer is called with: `context` is its own. Either may be nullptr.
struct ObserverFunctions {
  void* context = nullptr;
  void (*on_track)(void* context, const ObservedBlock& block) noexcept = nullptr;
  void (*on_untrack)(void* context, const ObservedBlock& block) noexcept = nullptr;
};

/// A list in the slot `Observers`, alone or among others. `ListedObserver` adds to it. Lists with
/// another `Name`, any type, are other ones. Telling nobody costs a load.
template <class Name = void>
class ObserverList {
 public:
  static void on_track(const ObservedBlock& block) noexcept {
    tell(&ObserverFunctions::on_track, block);
  }
  static void on_untrack(const ObservedBlock& block) noexcept {
    tell(&ObserverFunctions::on_untrack, block);
  }

 private:
  template <class>
  friend class ListedObserver;

  struct Node {
    ObserverFunctions functions;
    std::atomic<Node*> next{nullptr};
  };

  using Function = void (*ObserverFunctions::*)(void*, const ObservedBlock&) noexcept;

  static void tell(Function function, const ObservedBlock& block) noexcept {
    for (const Node* node = first_.load(std::memory_order_acquire); node != nullptr;
         node = node->next.load(std::memory_order_acquire)) {
      const ObserverFunctions& functions = node->functions;
      if (functions.*function != nullptr) (functions.*function)(functions.context, block);
    }
  }

  /// The last link, which ends the list.
  static std::atomic<Node*>& end() noexcept {
    std::atomic<Node*>* link = &first_;
    while (Node* node = link->load(std::memory_order_relaxed)) link = &node->next;
    return *link;
  }

  static std::atomic<Node*>& link_to(const Node& wanted) noexcept {
    std::atomic<Node*>* link = &first_;
    while (Node* node = link->load(std::memory_order_relaxed)) {
      if (node == &wanted) break;
      link = &node->next;
    }
    return *link;
  }

  static inline constinit std::atomic<Node*> first_{nullptr};
};

/// Is told of blocks as long as it lives; observers are told in the order in which they came. When
/// the destructor returns, no thread is inside the functions, unless one stood still there for
/// `WorldGate::kTimeoutNs`. Thread-safe; neither made nor destroyed inside a hook, an observer
/// or what an output calls.
template <class List = ObserverList<>>
class ListedObserver {
 public:
  explicit ListedObserver(const ObserverFunctions& functions) noexcept : node_{functions} {
    const std::lock_guard hold(control_lock);
    List::end().store(&node_, std::memory_order_release);
  }
  ListedObserver(const ListedObserver&) = delete;
  ListedObserver& operator=(const ListedObserver&) = delete;

  ~ListedObserver() {
    const std::lock_guard hold(control_lock);
    List::link_to(node_).store(node_.next.load(std::memory_order_relaxed),
                               std::memory_order_relaxed);
    // Observers are called where threads record: once all were outside, none knows of this one.
    static_cast<void>(ThreadStates::close_gate());
    ThreadStates::open_gate();
  }

 private:
  typename List::Node node_;
};

static_assert(Observer<ObserverList<>>);

}  // namespace alloctap
