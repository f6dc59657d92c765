// usage: semantics CASE: calls allocation functions in ways that have to be told apart, and prints
// what they return. It allocates nothing else.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Through pointers, so that the compiler neither removes a call nor knows better.
static void* (*volatile call_malloc)(size_t) = malloc;
static void* (*volatile call_calloc)(size_t, size_t) = calloc;
static void* (*volatile call_realloc)(void*, size_t) = realloc;
static void* (*volatile call_reallocarray)(void*, size_t, size_t) = reallocarray;
static void* (*volatile call_aligned_alloc)(size_t, size_t) = aligned_alloc;
static void* (*volatile call_memalign)(size_t, size_t) = memalign;
static char* (*volatile call_strndup)(const char*, size_t) = strndup;
static void (*volatile call_free)(void*) = free;
static const size_t huge = PTRDIFF_MAX;

/// What printf would do with an allocated buffer.
__attribute__((format(printf, 1, 2))) static void print(const char* format, ...) {
  char text[200];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (write(1, text, (size_t)length) != length) _exit(99);
}

static void show(const char* what, const void* result) {
  print("%s: %s, errno %d\n", what, result == NULL ? "null" : "block", errno);
}

static void free_null(void) {
  errno = 7;
  call_free(NULL);
  print("errno %d\n", errno);
}

static void malloc_zero(void) {
  void* block = call_malloc(0);
  show("malloc(0)", block);
  call_free(block);
}

static void malloc_huge(void) { show("malloc(huge)", call_malloc(huge)); }

static void calloc_overflow(void) {
  show("overflow", call_calloc(SIZE_MAX / 2, 3));
  show("overflow to 0", call_calloc(SIZE_MAX / 2 + 1, 2));
  char* block = call_calloc(5, 3);
  show("calloc", block);
  print("%d\n", block[0] | block[14]);
}

static void realloc_null(void) { show("realloc(NULL, 10)", call_realloc(NULL, 10)); }

static void realloc_to_zero(void) { show("realloc(p, 0)", call_realloc(call_malloc(10), 0)); }

static void realloc_grow(void) {
  char* block = call_malloc(10);
  strcpy(block, "content");
  block = call_realloc(block, 100000);
  print("%s\n", block);
  call_free(block);
}

static void realloc_fails(void) {
  char* block = call_malloc(10);
  strcpy(block, "content");
  show("realloc(p, huge)", call_realloc(block, huge));
  print("%s\n", block);
  call_free(block);
}

static void reallocarray_overflow(void) {
  void* block = call_malloc(10);
  show("overflow", call_reallocarray(block, SIZE_MAX / 2, 3));
  show("overflow to 0", call_reallocarray(block, SIZE_MAX / 2 + 1, 2));
  block = call_reallocarray(block, 10, 20);
  show("10 * 20", block);
  show("0 * 20", call_reallocarray(block, 0, 20));
}

static void posix_memalign_errors(void) {
  void* block = &block;
  print("%d\n", posix_memalign(&block, 3, 100));
  print("%d\n", posix_memalign(&block, 64, huge));
  print("%d\n", block == &block);
  print("%d\n", posix_memalign(&block, 64, 100));
  print("%d\n", (int)((uintptr_t)block % 64));
  call_free(block);
}

static void aligned(void) {
  void* blocks[] = {call_aligned_alloc(4096, 8192), call_memalign(256, 100), valloc(10),
                    pvalloc(10)};
  for (int i = 0; i < 4; ++i) print("%d\n", (int)((uintptr_t)blocks[i] % 256));
  for (int i = 0; i < 4; ++i) call_free(blocks[i]);
}

static void duplicates(void) {
  char* whole = strdup("twelve chars");
  char* part = call_strndup("twelve chars", 6);
  char* beyond = call_strndup("six", 100);
  print("%s|%s|%s\n", whole, part, beyond);
}

static void usable_size(void) {
  void* block = call_malloc(100);
  print("%zu %zu\n", malloc_usable_size(block), malloc_usable_size(NULL));
}

static void library_functions(void) {
  char* text = NULL;
  print("%d\n", asprintf(&text, "%d-%s", 42, "text"));
  print("%s\n", text);
  call_free(text);
}

static void mappings(void) {
  const size_t page = 4096;
  char* base = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  print("%d\n", munmap(base + 2 * page, 2 * page));
  print("%d\n", munmap(base + 1, page) == -1 ? errno : 0);
  char* moved = mremap(base + 4 * page, 4 * page, 16 * page, MREMAP_MAYMOVE);
  print("%d\n", moved != MAP_FAILED);
  print("%d\n", mmap(NULL, 0, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED ? errno : 0);
  char* over = mmap(moved + page, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  print("%d\n", over == moved + page);
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"free-null", free_null},
             {"malloc-zero", malloc_zero},
             {"malloc-huge", malloc_huge},
             {"calloc-overflow", calloc_overflow},
             {"realloc-null", realloc_null},
             {"realloc-to-zero", realloc_to_zero},
             {"realloc-grow", realloc_grow},
             {"realloc-fails", realloc_fails},
             {"reallocarray-overflow", reallocarray_overflow},
             {"posix_memalign-errors", posix_memalign_errors},
             {"aligned", aligned},
             {"duplicates", duplicates},
             {"usable-size", usable_size},
             {"library-functions", library_functions},
             {"mappings", mappings}};

int main(int argc, char** argv) {
  for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(argv[1], cases[i].name) == 0) cases[i].run();
  }
}
