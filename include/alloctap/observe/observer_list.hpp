/// A list of observers that are added and removed at run time.
#pragma once

#include <atomic>

#include "alloctap/observe/observer.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// The callbacks of one observer, called with `context`. A callback that is nullptr is not called.
struct ObserverFunctions {
  void* context = nullptr;
  void (*on_track)(void* context, const ObservedBlock& block) noexcept = nullptr;
  void (*on_untrack)(void* context, const ObservedBlock& block) noexcept = nullptr;
};

/// A `Config::Observers` that forwards to observers registered at run time by `ListedObserver`.
/// Each type `Name` makes a separate list. An empty list costs one load per event. Runs inside
/// malloc.
template <class Name = void>
class ObserverList {
 public:
  static void on_track(const ObservedBlock& block) noexcept {
    notify(&ObserverFunctions::on_track, block);
  }
  static void on_untrack(const ObservedBlock& block) noexcept {
    notify(&ObserverFunctions::on_untrack, block);
  }

 private:
  template <class>
  friend class ListedObserver;

  struct Node {
    ObserverFunctions functions;
    std::atomic<Node*> next{nullptr};
  };

  using Function = void (*ObserverFunctions::*)(void*, const ObservedBlock&) noexcept;

  static void notify(Function function, const ObservedBlock& block) noexcept {
    for (const Node* node = first_.load(std::memory_order_acquire); node != nullptr;
         node = node->next.load(std::memory_order_acquire)) {
      const ObserverFunctions& functions = node->functions;
      if (functions.*function != nullptr) (functions.*function)(functions.context, block);
    }
  }

  /// Returns the link at the end of the list, which is null.
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

/// Registers callbacks for its lifetime. Observers are called in the order of registration. When
/// the destructor returns, no thread runs the callbacks, unless a thread was suspended in a
/// callback for `WorldGate::kTimeoutNs`. Thread-safe. Must not be created or destroyed inside a
/// hook, an observer or a dump's output.
template <class List = ObserverList<>>
class ListedObserver {
 public:
  explicit ListedObserver(const ObserverFunctions& functions) noexcept : node_{functions} {
    const ControlScope hold;
    List::end().store(&node_, std::memory_order_release);
  }
  ListedObserver(const ListedObserver&) = delete;
  ListedObserver& operator=(const ListedObserver&) = delete;

  ~ListedObserver() {
    const ControlScope hold;
    List::link_to(node_).store(node_.next.load(std::memory_order_relaxed),
                               std::memory_order_relaxed);
    // Observers run inside recording scopes. Once all threads have left their scopes, no thread can
    // reach this node.
    static_cast<void>(ThreadStates::stop_world());
    ThreadStates::resume_world();
  }

 private:
  typename List::Node node_;
};

static_assert(Observer<ObserverList<>>);

}  // namespace alloctap
