/// What a program tells alloctap of itself, as scopes of C++11: annotate.h has what holds of all.
#pragma once

#include "alloctap/annotate.h"

namespace alloctap {

/// A text, as a function takes it: a literal, or anything that has `data()` and `size()`.
class Name {
 public:
  // NOLINTBEGIN(google-explicit-constructor): names are written where they are used
  Name(const char* text) noexcept : data_(text), size_(ALLOCTAP_LENGTH_OF(text)) {}
  template <class Text, class = decltype(static_cast<const Text*>(nullptr)->data())>
  Name(const Text& text) noexcept : data_(text.data()), size_(text.size()) {}
  // NOLINTEND(google-explicit-constructor)

  const char* data() const noexcept { return data_; }
  /// Or `ALLOCTAP_ENDS_IN_ZERO`.
  size_t size() const noexcept { return size_; }

 private:
  const char* data_;
  size_t size_;
};

/// A tag as a value, to be kept or handed to another thread. A default one is none.
struct Tag {
  uint16_t id = 0;
};

/// What is said of a scope that should not allocate.
struct NoAllocationOptions {
  /// So many are no offence.
  uint64_t allowed = 0;
  /// Whether each free is an offence as well.
  bool forbids_frees = false;
  /// Whether the first offence ends the program, by std::abort, after a line on standard error.
  bool aborts = false;
  /// Called for each offence, on the thread that allocates, inside malloc. May allocate.
  void (*on_offence)(const alloctap_offence* offence) = nullptr;
};

#if defined(ALLOCTAP_DISABLED)
// A program may have files with and without it, and their functions differ.
inline namespace disabled {
#endif

/// The tag that the calling thread is in.
inline Tag current_tag() noexcept {
  Tag tag;
  tag.id = static_cast<uint16_t>(alloctap_tag_current());
  return tag;
}

/// The tag `name` inside of the one that the calling thread is in. Takes a lock where the tag is
/// new.
inline Tag nested_tag(Name name) noexcept {
  Tag tag;
  if (const alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag)) {
    tag.id = static_cast<uint16_t>(tags->nested(name.data(), name.size()));
  }
  return tag;
}

/// While one is alive, what its thread allocates counts as its tag's:
///
///     alloctap::tag_scope physics{"Physics"};        // inside of "Game": "Game/Physics"
///
/// A scope made of a value enters just that tag, wherever the thread was, and is the way to take a
/// tag along to a job on another thread:
///
///     queue.push([tag = alloctap::current_tag()] { alloctap::tag_scope job{tag}; ... });
///
/// Scopes of one thread end in the reverse order of their beginning, and on the thread that they
/// began on. A coroutine or fiber that may go on on another thread must not wait inside of one.
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

/// What is allocated while one is alive is meant to stay: a cache, or a table that grows. It is
/// never taken for a leak.
class ExpectedLeak {
 private:
  TagScope scope_{ALLOCTAP_EXPECTED_TO_STAY};
};
using expected_to_stay = ExpectedLeak;

/// Notes the time under that name, in every tracker that records: "level 2 loaded".
inline void mark(Name name) noexcept {
  if (const alloctap_session_functions* const sessions = ALLOCTAP_OFFERED(session)) {
    sessions->mark(name.data(), name.size());
  }
}

/// Ends a frame of a game, and begins the next. To be called once in a loop, by any thread: the
/// loop may go from one to another, which reports count, as two loops that mark at once end each
/// other's frames. Returns false and does nothing if no tracker counts frames, if another thread is
/// in the middle of a mark, or inside an observer. Takes about the time of reading the clock;
/// allocates nothing, takes no lock, and waits while a snapshot copies.
inline bool frame_mark() noexcept { return alloctap_frame_mark() != 0; }

/// While one is alive, every allocation of its thread is an offence, in any code:
///
///     {
///       alloctap::no_allocation_scope mixing{"mix audio"};
///       mixer.run();
///     }
///
/// Offences are counted by scope and stack, and may call a function or end the program.
/// `allocations_allowed` makes an exception. Needs a tracker with `AllocationScopes` among its
/// observers, or alloctap-run; without, nothing is an offence.
///
/// The name outlives the scope. One without allocations costs a few stores.
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

  /// Whether there was an offence so far.
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

/// What is allocated while one is alive does not count for the scopes around it.
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

/// `[stack, stack + bytes)` is the stack of a fiber (ucontext, Boost.Context, a job system's) for
/// as long as this object lives. Captures on it are then as fast as on a thread's own stack.
/// Without it they are right too, but slow: the stack's memory may be unmapped at any time, so it
/// is read by system calls.
///
///     alloctap::fiber_scope scope{stack.memory(), stack.size()};
///
/// Make it before the fiber first runs, or first thing in it, and destroy it when the fiber runs no
/// more, before its memory is given back. The fiber may go from thread to thread.
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

/// A pool of the program's own, under its name in reports:
///
///     alloctap::memory_pool arena{"FrameArena"};
///     void* const block = bump(bytes);  arena.allocate(block, bytes);  ...  arena.reset();
///
/// Move-only; ends with its blocks in its destructor. Functions are those of annotate.h.
/// Thread-safe but for moves and the destructor. One that is made before a tracker can be found
/// stays unheard: see docs/annotations.md.
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

  /// It has handed out `bytes` at `block`.
  ALLOCTAP_POOL_METHOD void allocate(void* block, size_t bytes) const noexcept {
    alloctap_pool_allocate(pool_, block, bytes);
  }
  ALLOCTAP_POOL_METHOD void free(void* block) const noexcept { alloctap_pool_free(pool_, block); }
  /// The block at `old_block`, or none, is one of `bytes` at `block` now.
  ALLOCTAP_POOL_METHOD void reallocate(void* old_block, void* block, size_t bytes) const noexcept {
    alloctap_pool_reallocate(pool_, old_block, block, bytes);
  }
  /// It holds that many bytes beside its blocks from now on.
  void set_overhead(uint64_t bytes) const noexcept { alloctap_pool_overhead(pool_, bytes); }
  /// All its blocks end.
  void reset() const noexcept { alloctap_pool_reset(pool_); }

  /// For the functions of annotate.h; 0 where no tracker hears of it.
  alloctap_pool handle() const noexcept { return pool_; }

 private:
  alloctap_pool pool_;
};
using memory_pool = MemoryPool;

#if defined(ALLOCTAP_DISABLED)
}  // namespace disabled
#endif

}  // namespace alloctap
