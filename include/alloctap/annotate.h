/* Annotations of a program for alloctap: tags, game frames, no-allocation scopes, fibers,
   session marks and pools. Any source file may include this header (C99, C++11 or later;
   nothing to link).

   An embedded tracker or alloctap-run supplies the implementations when it starts, and later to
   each module that is loaded. Before that, and without a tracker, each function does nothing and
   costs a load and a branch. With ALLOCTAP_DISABLED defined, every function is empty.

   Thread-safe. Must not be called inside malloc or in a signal handler. Names are
   zero-terminated; they are copied unless the function says otherwise. annotate.hpp wraps this
   API in C++ scope guards. */
#ifndef ALLOCTAP_ANNOTATE_H
#define ALLOCTAP_ANNOTATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Identifies a tag, such as "Game/Physics", in at most 16 bits; 0 means no tag. */
typedef uint32_t alloctap_tag;

/* Identifies an allocator of the program (arena, slab, free list); 0 means no pool. */
typedef uint32_t alloctap_pool;

/* A scope that forbids or permits allocations. Only the tracker accesses the members. */
struct alloctap_scope {
  void* node;
  uint32_t depth;
};

/* An allocation or free that violates a no-allocation scope. */
struct alloctap_offence {
  const char* scope; /* name of the scope; not necessarily zero-terminated */
  size_t scope_length;
  const void* block;
  size_t bytes;
  uint32_t stack; /* stack that allocated the block, also for a free: its id in snapshots */
  int is_free;
  uint64_t allocations; /* in this scope so far, including this one */
  uint64_t frees;
};

/* Policy of a no-allocation scope. All zeros: each allocation is counted as an offence. */
struct alloctap_scope_options {
  uint64_t allowed;  /* number of allocations that are no offence */
  int forbids_frees; /* nonzero: each free is an offence, too */
  int aborts;        /* nonzero: prints the first offence to standard error and aborts */
  /* Called for each offence, on the offending thread, inside malloc or free. May allocate. */
  void (*on_offence)(const struct alloctap_offence* offence);
};

/* Function tables of a tracker, one per group. `size` is the size of the structure. Later versions
   of this header append members, and check `size` before they use appended members. A `length` of
   ALLOCTAP_ENDS_IN_ZERO means that the name is zero-terminated. */
#define ALLOCTAP_ENDS_IN_ZERO SIZE_MAX
#if defined(__GNUC__) || defined(__clang__)
/* A compile-time constant if the name is a literal. */
#define ALLOCTAP_LENGTH_OF(name) ((name) ? __builtin_strlen(name) : 0)
#else
#define ALLOCTAP_LENGTH_OF(name) ALLOCTAP_ENDS_IN_ZERO
#endif

struct alloctap_tag_functions {
  size_t size;
  alloctap_tag (*current)(void);
  alloctap_tag (*nested)(const char* name, size_t length);
  alloctap_tag (*enter)(alloctap_tag tag);
  alloctap_tag (*begin)(const char* name, size_t length);
};
struct alloctap_frame_functions {
  size_t size;
  int (*mark)(void);
};
struct alloctap_scope_functions {
  size_t size;
  void (*begin)(struct alloctap_scope* scope, const char* name, size_t length,
                const struct alloctap_scope_options* options);
  int (*end)(const struct alloctap_scope* scope);
  int (*offends)(const struct alloctap_scope* scope);
  void (*begin_exception)(struct alloctap_scope* scope);
};
struct alloctap_fiber_functions {
  size_t size;
  void* (*add)(const void* stack, size_t bytes);
  void (*remove)(void* fiber);
};
struct alloctap_session_functions {
  size_t size;
  void (*mark)(const char* name, size_t length);
  void (*pause)(void);
  void (*resume)(void);
};
struct alloctap_pool_functions {
  size_t size;
  alloctap_pool (*create)(const char* name, size_t length);
  void (*allocate)(alloctap_pool pool, void* pointer, size_t bytes);
  void (*free)(alloctap_pool pool, void* pointer);
  void (*reallocate)(alloctap_pool pool, void* old_pointer, void* new_pointer, size_t bytes);
  void (*overhead)(alloctap_pool pool, uint64_t bytes);
  void (*reset)(alloctap_pool pool);
  void (*destroy)(alloctap_pool pool);
};

/* A module's pointers to the function tables; null until a tracker sets them. */
struct alloctap_slots {
  const struct alloctap_tag_functions* tags;
  const struct alloctap_frame_functions* frames;
  const struct alloctap_scope_functions* scopes;
  const struct alloctap_fiber_functions* fibers;
  const struct alloctap_session_functions* sessions;
  const struct alloctap_pool_functions* pools;
};

#if defined(ALLOCTAP_DISABLED)

#elif defined(__ELF__) && (defined(__GNUC__) || defined(__clang__))

/* One hidden object per module, with weak references that the linker or loader resolves if a
   tracker exports the tables. The descriptor of an ELF note (gABI, "Note Section") of type 1 is the
   distance from itself to the object. By this note, a tracker finds and fills slots that were not
   resolved, as in non-PIC executables. */
#if defined(__LP64__)
#define ALLOCTAP_ADDRESS ".quad "
#else
#define ALLOCTAP_ADDRESS ".long "
#endif
/* clang-format off */
__asm__(
    ".ifndef alloctap_slots_of_module\n"
    ".pushsection .data.alloctap_slots,\"awG\",%progbits,alloctap_slots_of_module,comdat\n"
    ".weak alloctap_slots_of_module\n"
    ".hidden alloctap_slots_of_module\n"
    ".type alloctap_slots_of_module,%object\n"
    ".size alloctap_slots_of_module,6*(2f-1f)\n"
    ".balign 8\n"
    "alloctap_slots_of_module:\n"
    ".weak alloctap_tags\n"
    ".weak alloctap_frames\n"
    ".weak alloctap_scopes\n"
    ".weak alloctap_fibers\n"
    ".weak alloctap_sessions\n"
    ".weak alloctap_pools\n"
    "1: " ALLOCTAP_ADDRESS "alloctap_tags\n"
    "2: " ALLOCTAP_ADDRESS "alloctap_frames\n"
    ALLOCTAP_ADDRESS "alloctap_scopes\n"
    ALLOCTAP_ADDRESS "alloctap_fibers\n"
    ALLOCTAP_ADDRESS "alloctap_sessions\n"
    ALLOCTAP_ADDRESS "alloctap_pools\n"
    ".popsection\n"
    ".pushsection .note.alloctap,\"aG\",%note,alloctap_slots_of_module,comdat\n"
    ".balign 4\n"
    ".long 9\n"
    ".long 4\n"
    ".long 1\n"
    ".asciz \"alloctap\"\n"
    ".balign 4\n"
    ".long alloctap_slots_of_module-.\n"
    ".popsection\n"
    ".endif\n");
/* clang-format on */
#undef ALLOCTAP_ADDRESS
extern struct alloctap_slots alloctap_slots_of_module __attribute__((visibility("hidden")));

#define ALLOCTAP_SLOTS alloctap_slots_of_module

#elif defined(_WIN32)

/* One object per source file, in a section that a tracker finds by name in each module. `number`
   distinguishes the objects from padding that the linker inserts between them. */
struct alloctap_marked_slots {
  uint64_t number;
  struct alloctap_slots slots;
};
#define ALLOCTAP_SLOTS_NUMBER 0x746F6C737061746CU
#if defined(_MSC_VER)
#pragma section(".alctap", read, write)
__declspec(allocate(".alctap"))
#else
__attribute__((section(".alctap"), used))
#endif
static struct alloctap_marked_slots alloctap_slots_of_file = {ALLOCTAP_SLOTS_NUMBER,
                                                              {NULL, NULL, NULL, NULL, NULL, NULL}};

#define ALLOCTAP_SLOTS alloctap_slots_of_file.slots

#endif

/* Returns the function table of a group, such as `tag`; null if no tracker has set the slot. The
   read is volatile, because a tracker may set the slot at any time. */
#define ALLOCTAP_OFFERED(group) alloctap_offered_##group##_functions()
#if !defined(ALLOCTAP_SLOTS)
#define ALLOCTAP_READ_SLOT(type, name) return NULL
#elif defined(__GNUC__) || defined(__clang__)
#define ALLOCTAP_READ_SLOT(type, name)                    \
  type const volatile* const slot = &ALLOCTAP_SLOTS.name; \
  return __atomic_load_n(slot, __ATOMIC_RELAXED)
#else
#define ALLOCTAP_READ_SLOT(type, name)                    \
  type const volatile* const slot = &ALLOCTAP_SLOTS.name; \
  return *slot
#endif

static inline const struct alloctap_tag_functions* alloctap_offered_tag_functions(void) {
  ALLOCTAP_READ_SLOT(const struct alloctap_tag_functions*, tags);
}
static inline const struct alloctap_frame_functions* alloctap_offered_frame_functions(void) {
  ALLOCTAP_READ_SLOT(const struct alloctap_frame_functions*, frames);
}
static inline const struct alloctap_scope_functions* alloctap_offered_scope_functions(void) {
  ALLOCTAP_READ_SLOT(const struct alloctap_scope_functions*, scopes);
}
static inline const struct alloctap_fiber_functions* alloctap_offered_fiber_functions(void) {
  ALLOCTAP_READ_SLOT(const struct alloctap_fiber_functions*, fibers);
}
static inline const struct alloctap_session_functions* alloctap_offered_session_functions(void) {
  ALLOCTAP_READ_SLOT(const struct alloctap_session_functions*, sessions);
}
static inline const struct alloctap_pool_functions* alloctap_offered_pool_functions(void) {
  ALLOCTAP_READ_SLOT(const struct alloctap_pool_functions*, pools);
}
#undef ALLOCTAP_READ_SLOT
#undef ALLOCTAP_SLOTS

/* Tags: each allocation is attributed to the current tag of the allocating thread. */

/* Returns the calling thread's current tag, for example to pass it to another thread. */
static inline alloctap_tag alloctap_tag_current(void) {
  const struct alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag);
  return tags ? tags->current() : 0;
}

/* Returns the tag `name` nested in the calling thread's current tag. */
static inline alloctap_tag alloctap_tag_nested(const char* name) {
  const struct alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag);
  return tags ? tags->nested(name, ALLOCTAP_LENGTH_OF(name)) : 0;
}

/* Makes `tag` the calling thread's current tag. Returns the previous tag for alloctap_tag_end. */
static inline alloctap_tag alloctap_tag_enter(alloctap_tag tag) {
  const struct alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag);
  return tags ? tags->enter(tag) : 0;
}

/* Enters the tag `name` nested in the current tag. Returns the previous tag, for
   alloctap_tag_end. */
static inline alloctap_tag alloctap_tag_begin(const char* name) {
  const struct alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag);
  return tags ? tags->begin(name, ALLOCTAP_LENGTH_OF(name)) : 0;
}

/* Restores `before`, the result of alloctap_tag_begin or alloctap_tag_enter. */
static inline void alloctap_tag_end(alloctap_tag before) {
  const struct alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag);
  if (tags) tags->enter(before);
}

/* Name of a tag for allocations that are meant to stay, such as caches. Leak reports omit all
   allocations in this tag and its nested tags. */
#define ALLOCTAP_EXPECTED_TO_STAY "(expected to stay)"

/* Game frames. */

/* Ends the current game frame and begins the next. Returns 0 without effect if no tracker counts
   frames, if another thread is executing this function, or inside an observer. */
static inline int alloctap_frame_mark(void) {
  const struct alloctap_frame_functions* const frames = ALLOCTAP_OFFERED(frame);
  return frames ? frames->mark() : 0;
}

/* No-allocation scopes: each ends on the thread that began it, in LIFO order. */

/* Begins a scope in which each allocation of the calling thread is an offence. `name` is not
   copied and must outlive the scope; `options` may be null. */
static inline void alloctap_no_allocation_begin(struct alloctap_scope* scope, const char* name,
                                                const struct alloctap_scope_options* options) {
  const struct alloctap_scope_functions* const scopes = ALLOCTAP_OFFERED(scope);
  scope->node = NULL;
  scope->depth = 0;
  if (scopes) scopes->begin(scope, name, ALLOCTAP_LENGTH_OF(name), options);
}

/* Ends the scope. Returns nonzero if an offence occurred in the scope. */
static inline int alloctap_no_allocation_end(struct alloctap_scope* scope) {
  const struct alloctap_scope_functions* const scopes = ALLOCTAP_OFFERED(scope);
  const int offended = scopes && scope->node ? scopes->end(scope) : 0;
  scope->node = NULL;
  return offended;
}

/* Begins a scope whose allocations and frees do not count in enclosing no-allocation scopes. */
static inline void alloctap_allowed_begin(struct alloctap_scope* scope) {
  const struct alloctap_scope_functions* const scopes = ALLOCTAP_OFFERED(scope);
  scope->node = NULL;
  scope->depth = 0;
  if (scopes) scopes->begin_exception(scope);
}

static inline void alloctap_allowed_end(struct alloctap_scope* scope) {
  (void)alloctap_no_allocation_end(scope);
}

/* Fibers. */

/* Registers `[stack, stack + bytes)` as a fiber's stack, so that stack captures in the fiber are as
   fast as in a thread. Pass the result to alloctap_fiber_remove before the stack's memory is freed.
   Returns null without a tracker. */
static inline void* alloctap_fiber_add(const void* stack, size_t bytes) {
  const struct alloctap_fiber_functions* const fibers = ALLOCTAP_OFFERED(fiber);
  return fibers ? fibers->add(stack, bytes) : NULL;
}

static inline void alloctap_fiber_remove(void* fiber) {
  const struct alloctap_fiber_functions* const fibers = ALLOCTAP_OFFERED(fiber);
  if (fibers && fiber) fibers->remove(fiber);
}

/* Session control: each function applies to all trackers that have a session. */

/* Adds a named time marker, such as "level 2 loaded". */
static inline void alloctap_mark(const char* name) {
  const struct alloctap_session_functions* const sessions = ALLOCTAP_OFFERED(session);
  if (sessions) sessions->mark(name, ALLOCTAP_LENGTH_OF(name));
}

/* Pauses the recording of new blocks. Recording continues after as many calls of alloctap_resume,
   on any thread. */
static inline void alloctap_pause(void) {
  const struct alloctap_session_functions* const sessions = ALLOCTAP_OFFERED(session);
  if (sessions) sessions->pause();
}

static inline void alloctap_resume(void) {
  const struct alloctap_session_functions* const sessions = ALLOCTAP_OFFERED(session);
  if (sessions) sessions->resume();
}

/* Pools: suballocators whose memory comes from an allocator that the tracker already records. So
   their blocks count only in their pool, each with its stack. They are never sampled. */

/* Inlined, so that captured stacks begin in the program's allocator. */
#if defined(__GNUC__) || defined(__clang__)
#define ALLOCTAP_POOL_METHOD __attribute__((always_inline)) inline
#else
#define ALLOCTAP_POOL_METHOD inline
#endif
#define ALLOCTAP_POOL_FUNCTION static ALLOCTAP_POOL_METHOD

/* Creates a pool; alloctap_pool_destroy ends it. Names need not be unique. Returns 0 without a
   tracker or if 4,095 pools exist; functions that receive 0 do nothing. */
static inline alloctap_pool alloctap_pool_create(const char* name) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  return pools ? pools->create(name, ALLOCTAP_LENGTH_OF(name)) : 0;
}

/* Records that the pool allocated `size` bytes at `pointer`. Call this before another thread can
   free the block. */
ALLOCTAP_POOL_FUNCTION void alloctap_pool_allocate(alloctap_pool pool, void* pointer, size_t size) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  if (pools && pool) pools->allocate(pool, pointer, size);
}

/* Records the free of the block at `pointer`. Call this before the pool can reuse the memory. */
ALLOCTAP_POOL_FUNCTION void alloctap_pool_free(alloctap_pool pool, void* pointer) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  if (pools && pool) pools->free(pool, pointer);
}

/* Records a reallocation; `old_pointer` may be null. A null `new_pointer` means that the
   reallocation failed or, if `size` is 0, freed the old block. Call this function before another
   thread can receive the old block. */
ALLOCTAP_POOL_FUNCTION void alloctap_pool_reallocate(alloctap_pool pool, void* old_pointer,
                                                     void* new_pointer, size_t size) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  if (pools && pool) pools->reallocate(pool, old_pointer, new_pointer, size);
}

/* Sets the bytes that the pool holds beyond its blocks: headers and free memory. */
static inline void alloctap_pool_overhead(alloctap_pool pool, uint64_t bytes) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  if (pools && pool) pools->overhead(pool, bytes);
}

/* Records that all blocks of the pool are freed, as when a per-frame arena is reset. The pool
   stays usable. */
static inline void alloctap_pool_reset(alloctap_pool pool) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  if (pools && pool) pools->reset(pool);
}

/* Ends the pool and records that all its blocks are freed. Reports still show the pool's totals, to
   which the next pool with the same name adds. */
static inline void alloctap_pool_destroy(alloctap_pool pool) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  if (pools && pool) pools->destroy(pool);
}

#ifdef __cplusplus
}
#endif

#endif
