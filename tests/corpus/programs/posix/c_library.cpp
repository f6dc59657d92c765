#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../allocation_ways.hpp"
#include "families.hpp"

namespace corpus {
namespace {

constexpr Misuse kUnknown{Kind::kUnknownPointer, kCalls};
constexpr Misuse kFreedTwice{Kind::kDoubleFree, kCalls};

char* line_of_file() {
  FILE* const file = fopen("/proc/self/status", "r");
  char* line = nullptr;
  std::size_t size = 0;
  require(file != nullptr && getline(&line, &size, file) > 0, "a line is read");
  fclose(file);
  return hidden(line);
}

char* printed_text() {
  char* text = nullptr;
  require(asprintf(&text, "%s has %d bytes", "a text that is printed", 64) > 0,
          "a text is printed");
  return hidden(text);
}

char* text_of_stream() {
  char* text = nullptr;
  std::size_t size = 0;
  FILE* const stream = open_memstream(&text, &size);
  fprintf(stream, "%200d", 1);
  fclose(stream);
  return hidden(text);
}

char* path_of_root() { return hidden(realpath("/proc/..", hidden(static_cast<char*>(nullptr)))); }

void free_text(char* text) { free(hidden(text)); }

/// The value stands inside of what setenv allocated.
void free_variable() {
  setenv("MISUSE", "a value", 1);
  free_text(getenv("MISUSE"));
}

[[gnu::noinline]] void forget(char* (*make)()) { use(make()); }

/// What the C library allocated and the program must free.
struct Text {
  const char* name;
  char* (*make)();
};

constexpr Text kTexts[] = {
    {"getline", line_of_file},
    {"asprintf", printed_text},
    {"open_memstream", text_of_stream},
    {"realpath", path_of_root},
};

void open_and_close() {
  DIR* const directory = opendir("/");
  require(directory != nullptr && readdir(directory) != nullptr, "a directory is read");
  closedir(directory);
  FILE* const file = fopen("/dev/null", "w");
  require(file != nullptr && fputs("text", file) >= 0, "a file is written");
  fclose(file);
}

/// The system writes into the block, and stops without a fault at a page that it may not write.
void read_beyond(std::size_t bytes) {
  Neighbours neighbours;
  char* const block = portable_ways().front().make();
  neighbours.add_after();
  FILE* const file = fopen("/dev/zero", "r");
  setvbuf(file, nullptr, _IONBF, 0);
  use(fread(block, 1, hidden(bytes), file));
  fclose(file);
  free(hidden(block));
}

}  // namespace

void add_c_library(Cases& cases) {
  for (const Text& text : kTexts) {
    cases.add({"c_library", text.name, "good_freed"}, kGood,
              [&](auto&) { free_text(text.make()); });
    cases.add({"c_library", text.name, "freed_twice"}, kFreedTwice, [&](auto&) {
      char* const made = text.make();
      free_text(made);
      free_text(made);
    });
    cases.add({"c_library", text.name, "forgotten"}, kLeaked, [&](auto&) {
      forget(text.make);
      scrub_stack();
    });
  }
  cases.add({"c_library", "getenv", "freed"}, kUnknown, [](auto&) { free_variable(); });
  cases.add({"c_library", "strerror", "freed"}, kUnknown,
            [](auto&) { free_text(strerror(hidden(2))); });
  cases.add({"c_library", "files", "good_closed"}, kGood, [](auto&) { open_and_close(); });
  cases.add({"c_library", "fread", "8_bytes_too_many"}, {Kind::kWriteAfter, kGuardBytes},
            [](auto&) { read_beyond(72); });
  cases.add({"c_library", "fread", "good_to_the_end"}, kGood, [](auto&) { read_beyond(64); });
}

}  // namespace corpus
