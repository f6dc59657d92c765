/* A program in C with an arena of its own, which says what it hands out. */
#include <alloctap/annotate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

#define NOINLINE __attribute__((noinline))

enum { kChunk = 65536 };

/* Volatile: or a compiler leaves out what nobody reads. */
char* volatile chunk;
static size_t used;
static alloctap_pool arena;

NOINLINE static char* bump(size_t bytes) {
  char* const block = chunk + used;
  used += (bytes + 15) & ~(size_t)15;
  alloctap_pool_allocate(arena, block, bytes);
  return block;
}

NOINLINE static char* grow(char* old, size_t old_bytes, size_t bytes) {
  char* const block = chunk + used;
  used += (bytes + 15) & ~(size_t)15;
  memcpy(block, old, old_bytes);
  alloctap_pool_reallocate(arena, old, block, bytes);
  return block;
}

NOINLINE static void use_arena(void) {
  char* blocks[10];
  int i;
  for (i = 0; i < 10; ++i) blocks[i] = bump(100);
  blocks[9] = grow(blocks[9], 100, 300);
  for (i = 0; i < 3; ++i) alloctap_pool_free(arena, blocks[i]);
  alloctap_pool_overhead(arena, kChunk - used);
  /* No pool has this. */
  alloctap_pool_free(arena, chunk + 60000);
}

/* Blocks of an inner pool may begin where those of the outer one do. */
NOINLINE static void use_inner(void) {
  const alloctap_pool inner = alloctap_pool_create("inner");
  alloctap_pool_allocate(inner, chunk, 7);
  alloctap_pool_allocate(inner, chunk + 16, 8);
  /* The sixth block of the outer one. */
  alloctap_pool_free(inner, chunk + 5 * 112);
}

/* A level of a game: all goes at once. */
NOINLINE static void play_level(void) {
  const alloctap_pool level = alloctap_pool_create("level");
  alloctap_pool_allocate(level, chunk + 32768, 1000);
  alloctap_pool_reset(level);
  alloctap_pool_allocate(level, chunk + 32768, 2000);
  alloctap_pool_destroy(level);
  alloctap_pool_free(level, chunk + 32768);
}

int main(void) {
  start_tracker();
  chunk = malloc(kChunk);
  memset(chunk, 0, kChunk);
  arena = alloctap_pool_create("arena");
  use_arena();
  use_inner();
  play_level();
  play_level();
  report();
  puts("done");
  return 0;
}
