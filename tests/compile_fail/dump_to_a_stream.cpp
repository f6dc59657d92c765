// EXPECT: the destination of a dump does not model DumpOutput: pass a FileOutput
#include <alloctap/dump/text_dump.hpp>
#include <alloctap/impl/tracker.hpp>
#include <iostream>

int main() {
#ifdef ALLOCTAP_COMPILE_FAIL
  std::ostream& output = std::cout;
#else
  alloctap::FileOutput output("heap.txt");
#endif
  return alloctap::Tracker<>::dump(alloctap::TextDump{}, output).ok() ? 0 : 1;
}
