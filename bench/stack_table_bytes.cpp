// stack_table_bytes FILE: what a stack table takes for the stacks in FILE, one a line, frames in
// hexadecimal and leaf first. Prints how many stacks and frames there are, and bytes of the arena.
#include <alloctap/runtime/arena.hpp>
#include <alloctap/stack/stack_table.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <vector>

namespace {

constinit alloctap::StackTable table;

std::vector<std::uintptr_t> frames_in(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::uintptr_t> frames;
  for (std::uintptr_t frame = 0; text >> std::hex >> frame;) frames.push_back(frame);
  return frames;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: stack_table_bytes FILE\n", stderr);
    return 2;
  }
  std::ifstream stacks(arguments[1]);
  std::size_t all_frames = 0;
  for (std::string line; std::getline(stacks, line);) {
    const std::vector<std::uintptr_t> frames = frames_in(line);
    if (frames.empty()) continue;
    all_frames += frames.size();
    if (table.intern(frames) == alloctap::kUnknownStack) return 1;
  }
  std::printf("{\"stacks\": %zu, \"frames\": %zu, \"bytes\": %zu}\n",
              std::size_t{table.end_id()} - alloctap::kFirstStack, all_frames,
              alloctap::Arena::mapped_bytes());
  return 0;
}
