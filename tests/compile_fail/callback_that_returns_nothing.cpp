// EXPECT: the function of a CallbackOutput must take a std::string_view and return an
#include <alloctap/dump/text_dump.hpp>
#include <alloctap/impl/tracker.hpp>
#include <string_view>

int main() {
#ifdef ALLOCTAP_COMPILE_FAIL
  alloctap::CallbackOutput output([](std::string_view) {});
#else
  alloctap::CallbackOutput output([](std::string_view) { return alloctap::Status(); });
#endif
  return alloctap::Tracker<>::dump(alloctap::TextDump{}, output).ok() ? 0 : 1;
}
