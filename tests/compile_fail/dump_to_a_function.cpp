// EXPECT: the destination of a dump does not model DumpOutput: pass a FileOutput
#include <alloctap/dump/text_dump.hpp>
#include <alloctap/impl/tracker.hpp>
#include <string_view>

int main() {
#ifdef ALLOCTAP_COMPILE_FAIL
  const auto output = [](std::string_view) { return alloctap::Status(); };
#else
  alloctap::CallbackOutput output([](std::string_view) { return alloctap::Status(); });
#endif
  return alloctap::Tracker<>::dump(alloctap::TextDump{}, output).ok() ? 0 : 1;
}
