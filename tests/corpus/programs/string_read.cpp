#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "allocation_ways.hpp"
#include "families.hpp"
#include "texts.hpp"

namespace corpus {
namespace {

constexpr Misuse kMisuse{Kind::kReadAfter, kStringChecks | kPageAfter};

/// Room for whatever a function finds behind a block.
char copy[64 * 1024];

constexpr Reader kReaders[] = {
    {"memcpy", 1, [](const char* from, std::size_t bytes) { std::memcpy(copy, from, bytes); }},
    {"memmove", 1, [](const char* from, std::size_t bytes) { std::memmove(copy, from, bytes); }},
    {"memcmp", 1,
     [](const char* from, std::size_t bytes) {
       use(std::memcmp(from, text_of<char>(200), bytes));
     }},
    {"memchr", 1, [](const char* from, std::size_t bytes) { use(std::memchr(from, 'x', bytes)); }},
    {"strlen", 1, [](const char* from, std::size_t) { use(std::strlen(from)); }},
    {"strchr", 1, [](const char* from, std::size_t) { use(std::strchr(from, 'x')); }},
    {"strrchr", 1, [](const char* from, std::size_t) { use(std::strrchr(from, 'x')); }},
    {"strstr", 1, [](const char* from, std::size_t) { use(std::strstr(from, "xy")); }},
    {"strspn", 1, [](const char* from, std::size_t) { use(std::strspn(from, "a")); }},
    {"strcmp", 1,
     [](const char* from, std::size_t) { use(std::strcmp(from, text_of<char>(200))); }},
    {"strncmp", 1,
     [](const char* from, std::size_t bytes) {
       use(std::strncmp(from, text_of<char>(200), bytes));
     }},
    {"strcpy", 1, [](const char* from, std::size_t) { std::strcpy(copy, from); }},
    {"strncpy", 1, [](const char* from, std::size_t bytes) { std::strncpy(copy, from, bytes); }},
    {"strcat", 1,
     [](const char* from, std::size_t) {
       copy[0] = '\0';
       std::strcat(copy, from);
     }},
    {"snprintf", 1,
     [](const char* from, std::size_t) { std::snprintf(copy, sizeof(copy), "%s", from); }},
    {"strtol", 1, [](const char* from, std::size_t) { use(std::strtol(from, nullptr, 36)); }},
    {"wmemcpy", kWide,
     [](const char* from, std::size_t bytes) {
       std::wmemcpy(wide(copy), wide(from), bytes / kWide);
     }},
    {"wmemcmp", kWide,
     [](const char* from, std::size_t bytes) {
       use(std::wmemcmp(wide(from), text_of<wchar_t>(200), bytes / kWide));
     }},
    {"wcslen", kWide, [](const char* from, std::size_t) { use(std::wcslen(wide(from))); }},
    {"wcschr", kWide, [](const char* from, std::size_t) { use(std::wcschr(wide(from), L'x')); }},
    {"wcscmp", kWide,
     [](const char* from, std::size_t) { use(std::wcscmp(wide(from), text_of<wchar_t>(200))); }},
    {"wcscpy", kWide, [](const char* from, std::size_t) { std::wcscpy(wide(copy), wide(from)); }},
};

/// A string of the whole block: without an end, or with one that is its last character.
void read_text(const Reader& reader, const Way& way, bool is_ended) {
  Neighbours neighbours;
  char* const block = way.make();
  neighbours.add_after();
  const std::size_t characters = way.size / reader.unit;
  for (std::size_t i = 0; i < characters; ++i) {
    const bool is_end = is_ended && i == characters - 1;
    if (reader.unit == 1) {
      block[i] = is_end ? '\0' : 'a';
    } else {
      wide(block)[i] = is_end ? L'\0' : L'a';
    }
  }
  reader.read(hidden(block), hidden(way.size + (is_ended ? 0 : reader.unit)));
  way.drop(block);
}

}  // namespace

void add_reader(Cases& cases, const Reader& reader) {
  for (const Way& way : portable_ways()) {
    if (way.is_common) {
      cases.add({"string_read", reader.name, way.name, "beyond_the_end"}, kMisuse,
                [&](auto&) { read_text(reader, way, false); });
      cases.add({"string_read", reader.name, way.name, "good_to_the_end"}, kGood,
                [&](auto&) { read_text(reader, way, true); });
    }
  }
}

void add_string_read(Cases& cases) {
  for (const Reader& reader : kReaders) {
    add_reader(cases, reader);
  }
}

}  // namespace corpus
