/* What a program tells alloctap of itself: tags, frames, scopes that must not allocate, fibers,
   marks, pools. For every file of a program, a library or a plug-in: C99 and C++11 on, two small headers
   of the language, nothing to link.

   Without a tracker in the process each function costs a load and a branch, and does nothing. With
   one (a program that embeds alloctap, or alloctap-run) it calls the tracker's functions, which are
   found when the module is loaded or when the tracker starts. Calls before that do nothing. ALLOCTAP_DISABLED leaves the declarations, and makes every function empty.

   Thread-safe. Not to be called inside malloc or in a signal handler. A name is a text that ends in
   a zero; it is copied unless the comment says otherwise. annotate.hpp has the
   same as C++ scopes. */
#ifndef ALLOCTAP_ANNOTATE_H
#define ALLOCTAP_ANNOTATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tag, such as "Game/Physics", as a number of at most 16 bits; 0 is none. */
typedef uint32_t alloctap_tag;

/* A pool of the program's own: an arena, a slab, a free list. 0 is none. */
typedef uint32_t alloctap_pool;

/* A scope that must not allocate. What it holds is the tracker's. */
struct alloctap_scope {
  void* node;
  uint32_t depth;
};

/* An allocation, or a free, where there should be none. */
struct alloctap_offence {
  const char* scope; /* its name, of `scope_length` bytes; no zero need follow */
  size_t scope_length;
  const void* block;
  size_t bytes;
  uint32_t stack; /* that allocates or frees; its number in snapshots */
  int is_free;
  uint64_t allocations; /* of the scope so far, this one included */
  uint64_t frees;
};

/* What a scope does about allocations. All zeros: each is an offence that is counted. */
struct alloctap_scope_options {
  uint64_t allowed;  /* so many are no offence */
  int forbids_frees; /* each free is an offence, too */
  int aborts;        /* the first one ends the program, after a line on standard error */
  /* Called for each offence, inside malloc, on the thread that allocates. May allocate. */
  void (*on_offence)(const struct alloctap_offence* offence);
};

/* What a tracker offers. `size` is that of the structure: later versions append members, and check
   it before they use one. `length` may be ALLOCTAP_ENDS_IN_ZERO. */
#define ALLOCTAP_ENDS_IN_ZERO SIZE_MAX
#if defined(__GNUC__) || defined(__clang__)
/* Known to the compiler where the name is a literal. */
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

/* Where a module finds them: null until a tracker offers them. */
struct alloctap_slots {
  const struct alloctap_tag_functions* tags;
  const struct alloctap_frame_functions* frames;
  const struct alloctap_scope_functions* scopes;
  const struct alloctap_fiber_functions* fibers;
  const struct alloctap_session_functions* sessions;
  const struct alloctap_pool_functions* pools;
};

#if defined(ALLOCTAP_DISABLED)

/* Nothing is offered. */

#elif defined(__ELF__) && (defined(__GNUC__) || defined(__clang__))

/* One for each module, hidden from the others, with weak references that the linker or the loader
   resolves if it knows a tracker. Beside it a note ("Note Section" of the ELF gABI) of type 1, whose
   description is the distance to the slots. A tracker finds unresolved slots by it, as in programs
   that are not position-independent. */
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

/* One for each source file, in a section by whose name a tracker finds them in each module. The
   number tells them from what the linker puts between. */
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

/* What is offered of one group, "tag" for instance; null where nothing is. Volatile: a tracker may
   write it at any time. */
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

/* Tags: what a thread allocates is put down to the tag that it is in. */

/* The tag that the calling thread is in, to be handed to another thread. */
static inline alloctap_tag alloctap_tag_current(void) {
  const struct alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag);
  return tags ? tags->current() : 0;
}

/* The tag `name` inside of the one that the calling thread is in. */
static inline alloctap_tag alloctap_tag_nested(const char* name) {
  const struct alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag);
  return tags ? tags->nested(name, ALLOCTAP_LENGTH_OF(name)) : 0;
}

/* The calling thread is in just `tag` from now on. Returns the tag that it was in, for
   alloctap_tag_end. */
static inline alloctap_tag alloctap_tag_enter(alloctap_tag tag) {
  const struct alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag);
  return tags ? tags->enter(tag) : 0;
}

/* The same with the tag `name` inside of the present one. */
static inline alloctap_tag alloctap_tag_begin(const char* name) {
  const struct alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag);
  return tags ? tags->begin(name, ALLOCTAP_LENGTH_OF(name)) : 0;
}

/* The calling thread is back in `before`, as alloctap_tag_begin returned it. */
static inline void alloctap_tag_end(alloctap_tag before) {
  const struct alloctap_tag_functions* const tags = ALLOCTAP_OFFERED(tag);
  if (tags) tags->enter(before);
}

/* What is allocated in the tag of this name, and in tags inside of it, is meant to stay: a cache,
   or a table that grows. It is no leak. */
#define ALLOCTAP_EXPECTED_TO_STAY "(expected to stay)"

/* Frames. */

/* Ends a frame of a game and begins the next. Returns 0 if no tracker counts frames, or another
   thread is in the middle of a mark. */
static inline int alloctap_frame_mark(void) {
  const struct alloctap_frame_functions* const frames = ALLOCTAP_OFFERED(frame);
  return frames ? frames->mark() : 0;
}

/* Scopes that must not allocate: each ends on the thread that it began on, in the reverse order. */

/* What its thread allocates until alloctap_no_allocation_end is an offence. `name` outlives the
   scope; `options` may be null. */
static inline void alloctap_no_allocation_begin(struct alloctap_scope* scope, const char* name,
                                                const struct alloctap_scope_options* options) {
  const struct alloctap_scope_functions* const scopes = ALLOCTAP_OFFERED(scope);
  scope->node = NULL;
  scope->depth = 0;
  if (scopes) scopes->begin(scope, name, ALLOCTAP_LENGTH_OF(name), options);
}

/* Returns whether there was an offence. */
static inline int alloctap_no_allocation_end(struct alloctap_scope* scope) {
  const struct alloctap_scope_functions* const scopes = ALLOCTAP_OFFERED(scope);
  const int offended = scopes && scope->node ? scopes->end(scope) : 0;
  scope->node = NULL;
  return offended;
}

/* What is allocated until alloctap_allowed_end is none of the scopes around it. */
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

/* `[stack, stack + bytes)` is the stack of a fiber until alloctap_fiber_remove gets what this
   returns, before the memory is freed. Captures on it are as fast as on a thread's stack. Null
   without a tracker. */
static inline void* alloctap_fiber_add(const void* stack, size_t bytes) {
  const struct alloctap_fiber_functions* const fibers = ALLOCTAP_OFFERED(fiber);
  return fibers ? fibers->add(stack, bytes) : NULL;
}

static inline void alloctap_fiber_remove(void* fiber) {
  const struct alloctap_fiber_functions* const fibers = ALLOCTAP_OFFERED(fiber);
  if (fibers && fiber) fibers->remove(fiber);
}

/* Sessions: of every tracker that records now. */

/* Notes the time under that name: "level 2 loaded". */
static inline void alloctap_mark(const char* name) {
  const struct alloctap_session_functions* const sessions = ALLOCTAP_OFFERED(session);
  if (sessions) sessions->mark(name, ALLOCTAP_LENGTH_OF(name));
}

/* New blocks are not recorded until alloctap_resume was called as often, over all threads. */
static inline void alloctap_pause(void) {
  const struct alloctap_session_functions* const sessions = ALLOCTAP_OFFERED(session);
  if (sessions) sessions->pause();
}

static inline void alloctap_resume(void) {
  const struct alloctap_session_functions* const sessions = ALLOCTAP_OFFERED(session);
  if (sessions) sessions->resume();
}

/* Pools: what they hand out lies in memory that the tracker knows already, and is counted for the
   pool alone. Each block is recorded with its stack, whatever a tracker samples. */

/* Folded into the caller, so that stacks begin in the program's allocator. */
#if defined(__GNUC__) || defined(__clang__)
#define ALLOCTAP_POOL_METHOD __attribute__((always_inline)) inline
#else
#define ALLOCTAP_POOL_METHOD inline
#endif
#define ALLOCTAP_POOL_FUNCTION static ALLOCTAP_POOL_METHOD

/* A new pool, until alloctap_pool_destroy. Pools may have one name. 0 without a tracker, or where
   there are 4,095 pools: functions of such a pool do nothing. */
static inline alloctap_pool alloctap_pool_create(const char* name) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  return pools ? pools->create(name, ALLOCTAP_LENGTH_OF(name)) : 0;
}

/* The pool has handed out `size` bytes at `pointer`. To be called before another thread can give
   them back. */
ALLOCTAP_POOL_FUNCTION void alloctap_pool_allocate(alloctap_pool pool, void* pointer, size_t size) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  if (pools && pool) pools->allocate(pool, pointer, size);
}

/* The block at `pointer` ends. To be called before the pool can hand it out again. */
ALLOCTAP_POOL_FUNCTION void alloctap_pool_free(alloctap_pool pool, void* pointer) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  if (pools && pool) pools->free(pool, pointer);
}

/* The block at `old_pointer`, which may be null, is one of `size` bytes at `new_pointer` now. Where
   that is null the reallocation has failed and nothing changes, unless `size` is 0: then the old
   block ends. Other threads must not get the old block before. */
ALLOCTAP_POOL_FUNCTION void alloctap_pool_reallocate(alloctap_pool pool, void* old_pointer,
                                                     void* new_pointer, size_t size) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  if (pools && pool) pools->reallocate(pool, old_pointer, new_pointer, size);
}

/* The pool holds that many bytes beside its blocks from now on: headers, and memory that waits. */
static inline void alloctap_pool_overhead(alloctap_pool pool, uint64_t bytes) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  if (pools && pool) pools->overhead(pool, bytes);
}

/* All its blocks end, and the pool goes on: an arena at the end of a frame. */
static inline void alloctap_pool_reset(alloctap_pool pool) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  if (pools && pool) pools->reset(pool);
}

/* All its blocks end, and so does the pool. Reports keep what it has allocated; the next pool of its
   name goes on with these numbers. */
static inline void alloctap_pool_destroy(alloctap_pool pool) {
  const struct alloctap_pool_functions* const pools = ALLOCTAP_OFFERED(pool);
  if (pools && pool) pools->destroy(pool);
}

#ifdef __cplusplus
}
#endif

#endif
