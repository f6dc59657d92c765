#include <cstdio>
#include <cstring>

#include "allocation_ways.hpp"
#include "families.hpp"
#include "texts.hpp"

namespace corpus {
namespace {

constexpr Misuse kMisuse{Kind::kWriteAfter, kStringChecks | kGuardBytes | kPageAfter};

const char* text(std::size_t bytes) { return text_of<char>(bytes - 1); }
const wchar_t* wide_text(std::size_t bytes) { return text_of<wchar_t>(bytes / kWide - 1); }

constexpr Writer kWriters[] = {
    {"memcpy", 1, [](char* to, std::size_t bytes) { std::memcpy(to, text(bytes), bytes); }},
    {"memmove", 1, [](char* to, std::size_t bytes) { std::memmove(to, text(bytes), bytes); }},
    {"memset", 1, [](char* to, std::size_t bytes) { std::memset(to, 's', bytes); }},
    {"strcpy", 1, [](char* to, std::size_t bytes) { std::strcpy(to, text(bytes)); }},
    {"strncpy", 1, [](char* to, std::size_t bytes) { std::strncpy(to, text(4), bytes); }},
    {"strcat", 1,
     [](char* to, std::size_t bytes) {
       std::strcpy(to, text(11));
       std::strcat(to, text(bytes - 10));
     }},
    {"strncat", 1,
     [](char* to, std::size_t bytes) {
       std::strcpy(to, text(11));
       std::strncat(to, text(200), bytes - 11);
     }},
    {"sprintf", 1, [](char* to, std::size_t bytes) { std::sprintf(to, "%s", text(bytes)); }},
    {"snprintf", 1, [](char* to, std::size_t bytes) { std::snprintf(to, bytes, "%s", text(200)); }},
    {"wmemcpy", kWide,
     [](char* to, std::size_t bytes) { std::wmemcpy(wide(to), wide_text(bytes), bytes / kWide); }},
    {"wmemmove", kWide,
     [](char* to, std::size_t bytes) { std::wmemmove(wide(to), wide_text(bytes), bytes / kWide); }},
    {"wmemset", kWide,
     [](char* to, std::size_t bytes) { std::wmemset(wide(to), L's', bytes / kWide); }},
    {"wcscpy", kWide, [](char* to, std::size_t bytes) { std::wcscpy(wide(to), wide_text(bytes)); }},
    {"wcsncpy", kWide,
     [](char* to, std::size_t bytes) {
       std::wcsncpy(wide(to), text_of<wchar_t>(3), bytes / kWide);
     }},
    {"wcscat", kWide,
     [](char* to, std::size_t bytes) {
       std::wcscpy(wide(to), text_of<wchar_t>(4));
       std::wcscat(wide(to), text_of<wchar_t>(bytes / kWide - 5));
     }},
    {"wcsncat", kWide,
     [](char* to, std::size_t bytes) {
       std::wcscpy(wide(to), text_of<wchar_t>(4));
       std::wcsncat(wide(to), text_of<wchar_t>(200), bytes / kWide - 5);
     }},
    {"swprintf", kWide,
     [](char* to, std::size_t bytes) {
       std::swprintf(wide(to), bytes / kWide, L"%ls", wide_text(bytes));
     }},
};

void write_beyond(const Writer& writer, const Way& way, std::size_t beyond) {
  Neighbours neighbours;
  char* const block = way.make();
  neighbours.add_after();
  writer.write(block, hidden(way.size + beyond));
  way.drop(block);
}

}  // namespace

void add_writer(Cases& cases, const Writer& writer) {
  for (const Way& way : portable_ways()) {
    if (!way.is_common) {
      continue;
    }
    const auto add = [&](const char* variant, Misuse misuse, std::size_t beyond) {
      cases.add({"string_write", writer.name, way.name, variant}, misuse,
                [&](auto&) { write_beyond(writer, way, beyond); });
    };
    add("1_character", kMisuse, writer.unit);
    add("32_bytes", kMisuse, 32);
    add("good_to_the_end", kGood, 0);
  }
}

void add_string_write(Cases& cases) {
  for (const Writer& writer : kWriters) {
    add_writer(cases, writer);
  }
}

}  // namespace corpus
