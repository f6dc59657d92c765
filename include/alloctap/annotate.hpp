/// C++11 scope guards over the annotations of annotate.h, which documents the common rules.
#pragma once

#include "alloctap/annotate.h"

namespace alloctap {

/// A string argument: a literal, or anything that has `data()` and `size()`.
class Name {
 public:
  // NOLINTBEGIN(google-explicit-constructor): lets callers pass literals and strings
  Name(const char* text) noexcept : data_(text), size_(ALLOCTAP_LENGTH_OF(text)) {}
  template <class Text, class = decltype(static_cast<const Text*>(nullptr)->data())>
  Name(const Text& text) noexcept : data_(text.data()), size_(text.size()) {}
  // NOLINTEND(google-explicit-constructor)

  const char* data() const noexcept { return data_; }
  /// Returns the length, or `ALLOCTAP_ENDS_IN_ZERO` for a null-terminated string of unknown length.
  size_t size() const noexcept { return size_; }

 private:
  const char* data_;
  size_t size_;
};

/// A tag id that can be stored or passed to another thread. A default `Tag` means no tag.
struct Tag {
  uint16_t id = 0;
};

/// Policy of a no-allocation scope.
struct NoAllocationOptions {
  /// Number of allocations that the scope permits; each further one is an offence.
  uint64_t allowed = 0;
  /// Makes each free an offence, too.
  bool forbids_frees = false;
  /// Prints the first offence to standard error and calls std::abort.
  bool aborts = false;
  /// Called for each offence, on the offending thread, inside malloc or free. May allocate.
  void (*on_offence)(const alloctap_offence* offence) = nullptr;
};

#if defined(ALLOCTAP_DISABLED)
// A distinct namespace avoids ODR violations between files with and without ALLOCTAP_DISABLED.
inline namespace disabled {
#endif

inline Tag current_tag() noexcept {
  Tag tag;
  tag.id = static_cast<uint16_t>(alloctap_tag_current());
  return tag;
}

/// Returns the tag `name` nested in the calling thread's current tag. Locks if the tag is new.
inline Tag nested_tag(Name name) noexcept {
  Tag tag;
  if (const alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag)) {
    tag.id = static_cast<uint16_t>(tags->nested(name.data(), name.size()));
  }
  return tag;
}

/// A scope guard that attributes allocations of its thread to a tag:
///
///     alloctap::tag_scope physics{"Physics"};        // inside of "Game": "Game/Physics"
///
/// A scope made from a `Tag` enters exactly that tag, without nesting it in the current tag. Use
/// such a scope to carry a tag to a job on another thread:
///
///     queue.push([tag = alloctap::current_tag()] { alloctap::tag_scope job{tag}; ... });
///
/// Scopes end in LIFO order, on the thread that began them. A coroutine or fiber must not suspend
/// inside a scope if it may resume on another thread.
class TagScope {
 public:
  explicit TagScope(Name name) noexcept : before_(begin(name)) {}
  explicit TagScope(Tag tag) noexcept : before_(alloctap_tag_enter(tag.id)) {}
  ~TagScope() { alloctap_tag_end(before_); }
  TagScope(const TagScope&) = delete;
  TagScope& operator=(const TagScope&) = delete;

 private:
  static alloctap_tag begin(Name name) noexcept {
    const alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag);
    return tags != nullptr ? tags->begin(name.data(), name.size()) : 0;
  }

  const alloctap_tag before_;
};
using tag_scope = TagScope;

/// A scope guard for allocations that are meant to stay, such as a cache or a growing table. Leak
/// reports omit these allocations.
class ExpectedLeak {
 private:
  TagScope scope_{ALLOCTAP_EXPECTED_TO_STAY};
};
using expected_to_stay = ExpectedLeak;

/// Adds a named time marker, such as "level 2 loaded", in every tracker that records.
inline void mark(Name name) noexcept {
  if (const alloctap_session_functions* const sessions = ALLOCTAP_OFFERED(session)) {
    sessions->mark(name.data(), name.size());
  }
}

/// Ends a game frame and begins the next. Call this once per iteration of the game loop. The loop
/// may change threads; reports count the changes. If two loops call this function, each loop ends
/// the other's frames. Returns false without effect if no tracker counts frames, if another thread
/// is executing this function, or inside an observer. Costs about a clock read. Allocates nothing
/// and takes no lock, but blocks while a snapshot is copied.
inline bool frame_mark() noexcept { return alloctap_frame_mark() != 0; }

/// A scope guard that makes every allocation of its thread an offence, whichever code allocates:
///
///     {
///       alloctap::no_allocation_scope mixing{"mix audio"};
///       mixer.run();
///     }
///
/// Offences are counted per scope and stack. By `NoAllocationOptions`, an offence can also call a
/// function or abort. An `allocations_allowed` scope inside permits allocations. Requires
/// alloctap-run, or `AllocationScopes` among the tracker's observers; otherwise nothing is an
/// offence. The name is not copied and must outlive the scope. A scope without allocations costs a
/// few stores.
class NoAllocationScope {
 public:
  explicit NoAllocationScope(Name name) noexcept : scope_() { begin(name, nullptr); }

  NoAllocationScope(Name name, const NoAllocationOptions& options) noexcept : scope_() {
    alloctap_scope_options all = {};
    all.allowed = options.allowed;
    all.forbids_frees = options.forbids_frees ? 1 : 0;
    all.aborts = options.aborts ? 1 : 0;
    all.on_offence = options.on_offence;
    begin(name, &all);
  }

  ~NoAllocationScope() { alloctap_no_allocation_end(&scope_); }
  NoAllocationScope(const NoAllocationScope&) = delete;
  NoAllocationScope& operator=(const NoAllocationScope&) = delete;

  /// Returns true if an offence has occurred in this scope so far.
  bool offends() const noexcept {
    const alloctap_scope_functions* const scopes = ALLOCTAP_OFFERED(scope);
    return scopes != nullptr && scope_.node != nullptr && scopes->offends(&scope_) != 0;
  }

 private:
  void begin(Name name, const alloctap_scope_options* options) noexcept {
    const alloctap_scope_functions* const scopes = ALLOCTAP_OFFERED(scope);
    if (scopes != nullptr) scopes->begin(&scope_, name.data(), name.size(), options);
  }

  alloctap_scope scope_;
};
using no_allocation_scope = NoAllocationScope;

/// A scope guard whose allocations and frees do not count in enclosing no-allocation scopes.
class AllocationsAllowed {
 public:
  AllocationsAllowed() noexcept : scope_() { alloctap_allowed_begin(&scope_); }
  ~AllocationsAllowed() { alloctap_allowed_end(&scope_); }
  AllocationsAllowed(const AllocationsAllowed&) = delete;
  AllocationsAllowed& operator=(const AllocationsAllowed&) = delete;

 private:
  alloctap_scope scope_;
};
using allocations_allowed = AllocationsAllowed;

/// A scope guard that registers `[stack, stack + bytes)` as the stack of a fiber (ucontext,
/// Boost.Context, a job system). Captures on a registered stack are as fast as on a thread's own
/// stack. Captures on an unregistered stack are correct but slow: they read the stack by system
/// calls, because its memory may be unmapped at any time.
///
///     alloctap::fiber_scope scope{stack.memory(), stack.size()};
///
/// Construct the scope before the fiber runs, or at the fiber's beginning. Destroy the scope when
/// the fiber has ended, before the stack's memory is freed. The fiber may migrate between threads.
class FiberScope {
 public:
  FiberScope(const void* stack, size_t bytes) noexcept : fiber_(alloctap_fiber_add(stack, bytes)) {}
  ~FiberScope() { alloctap_fiber_remove(fiber_); }
  FiberScope(const FiberScope&) = delete;
  FiberScope& operator=(const FiberScope&) = delete;

 private:
  void* const fiber_;
};
using fiber_scope = FiberScope;

/// A named suballocator of the program. Reports show its blocks under its name:
///
///     alloctap::memory_pool arena{"FrameArena"};
///     void* const block = bump(bytes);  arena.allocate(block, bytes);  ...  arena.reset();
///
/// Move-only; the destructor records all live blocks as freed. annotate.h documents the functions.
/// Thread-safe except for moves and the destructor. A pool constructed before a tracker has set the
/// module's function tables is never recorded: see docs/annotations.md.
class MemoryPool {
 public:
  explicit MemoryPool(Name name) noexcept : pool_(0) {
    if (const alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool)) {
      pool_ = pools->create(name.data(), name.size());
    }
  }
  MemoryPool(MemoryPool&& other) noexcept : pool_(other.pool_) { other.pool_ = 0; }
  MemoryPool& operator=(MemoryPool&& other) noexcept {
    if (this == &other) return *this;
    alloctap_pool_destroy(pool_);
    pool_ = other.pool_;
    other.pool_ = 0;
    return *this;
  }
  ~MemoryPool() { alloctap_pool_destroy(pool_); }

  ALLOCTAP_POOL_METHOD void allocate(void* block, size_t bytes) const noexcept {
    alloctap_pool_allocate(pool_, block, bytes);
  }
  ALLOCTAP_POOL_METHOD void free(void* block) const noexcept { alloctap_pool_free(pool_, block); }
  /// Records a reallocation; `old_block` may be null.
  ALLOCTAP_POOL_METHOD void reallocate(void* old_block, void* block, size_t bytes) const noexcept {
    alloctap_pool_reallocate(pool_, old_block, block, bytes);
  }
  /// Sets the pool's overhead: the bytes that the pool holds besides its live blocks.
  void set_overhead(uint64_t bytes) const noexcept { alloctap_pool_overhead(pool_, bytes); }
  /// Records that all blocks of the pool are freed; the pool stays usable.
  void reset() const noexcept { alloctap_pool_reset(pool_); }

  /// Returns the handle for the functions of annotate.h; 0 if no tracker records the pool.
  alloctap_pool handle() const noexcept { return pool_; }

 private:
  alloctap_pool pool_;
};
using memory_pool = MemoryPool;

#if defined(ALLOCTAP_DISABLED)
}  // namespace disabled
#endif

}  // namespace alloctap
