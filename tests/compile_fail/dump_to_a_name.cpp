// EXPECT: the destination of a dump does not model DumpOutput: pass a FileOutput
#include <alloctap/dump/text_dump.hpp>
#include <alloctap/impl/tracker.hpp>

int main() {
#ifdef ALLOCTAP_COMPILE_FAIL
  const char output[] = "heap.txt";
#else
  alloctap::FileOutput output("heap.txt");
#endif
  return alloctap::Tracker<>::dump(alloctap::TextDump{}, output).ok() ? 0 : 1;
}
