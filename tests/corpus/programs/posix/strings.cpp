#include <string.h>
#include <strings.h>
#include <wchar.h>

#include "../texts.hpp"
#include "families.hpp"

namespace corpus {
namespace {

constexpr Writer kWriters[] = {
    {"mempcpy", 1,
     [](char* to, std::size_t bytes) { use(mempcpy(to, text_of<char>(bytes), bytes)); }},
    {"bzero", 1, [](char* to, std::size_t bytes) { bzero(to, bytes); }},
    {"explicit_bzero", 1, [](char* to, std::size_t bytes) { explicit_bzero(to, bytes); }},
    {"stpcpy", 1, [](char* to, std::size_t bytes) { use(stpcpy(to, text_of<char>(bytes - 1))); }},
    {"stpncpy", 1, [](char* to, std::size_t bytes) { use(stpncpy(to, text_of<char>(4), bytes)); }},
    {"wcpcpy", kWide,
     [](char* to, std::size_t bytes) {
       use(wcpcpy(wide(to), text_of<wchar_t>(bytes / kWide - 1)));
     }},
};

constexpr Reader kReaders[] = {
    {"strnlen", 1, [](const char* from, std::size_t bytes) { use(strnlen(from, bytes)); }},
    {"memrchr", 1, [](const char* from, std::size_t bytes) { use(memrchr(from, 'x', bytes)); }},
    {"memmem", 1, [](const char* from, std::size_t bytes) { use(memmem(from, bytes, "xy", 2)); }},
    {"strcasecmp", 1,
     [](const char* from, std::size_t) { use(strcasecmp(from, text_of<char>(200))); }},
    {"wcsnlen", kWide,
     [](const char* from, std::size_t bytes) { use(wcsnlen(wide(from), bytes / kWide)); }},
};

}  // namespace

void add_posix_strings(Cases& cases) {
  for (const Writer& writer : kWriters) {
    add_writer(cases, writer);
  }
  for (const Reader& reader : kReaders) {
    add_reader(cases, reader);
  }
}

}  // namespace corpus
