// What the program "tagged" does. GCC takes malloc for a function that reads no variable where it
// does not see that the program defines it, so this file does not; nor has it any barriers.
#include <alloctap/tag/tag_scope.hpp>
#include <cstdlib>
#include <thread>

void load();
void simulate();

namespace {

/// Keeps the compiler from leaving out what is allocated.
void* volatile blocks[5];

}  // namespace

void load() {
  const alloctap::tag_scope loading{"Loading"};
  for (int i = 0; i < 3; ++i) {
    const alloctap::tag_scope textures{"Textures"};
    blocks[i] = std::malloc(100);
  }
  std::free(blocks[0]);
  blocks[3] = std::malloc(50);
}

/// A thread is started outside of the tag: what the system allocates for it is not the tag's.
void simulate() {
  const alloctap::Tag tag = alloctap::nested_tag("Physics");
  std::thread([tag] {
    const alloctap::tag_scope job{tag};
    blocks[4] = std::malloc(400);
  }).join();
}
