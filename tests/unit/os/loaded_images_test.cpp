#include "alloctap/os/loaded_images.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace os = alloctap::os;

namespace {

void some_function() {}

bool holds(const os::LoadedImage& image, const void* address) {
  return std::any_of(image.segments.begin(), image.segments.end(), [&](const auto& segment) {
    const auto offset = reinterpret_cast<std::uintptr_t>(address) - image.bias - segment.p_vaddr;
    return segment.p_type == PT_LOAD && offset < segment.p_memsz;
  });
}

std::vector<std::uintptr_t> biases() {
  std::vector<std::uintptr_t> result;
  result.reserve(1000);
  os::visit_loaded_images([&](const os::LoadedImage& image) { result.push_back(image.bias); });
  return result;
}

}  // namespace

TEST_CASE("the program comes first, and the library of a function is listed") {
  std::size_t visited = 0;
  std::size_t with_function = 0;
  std::size_t with_getppid = 0;
  const void* const getppid = dlsym(RTLD_DEFAULT, "getppid");
  os::visit_loaded_images([&](const os::LoadedImage& image) {
    const bool is_program = holds(image, reinterpret_cast<const void*>(&some_function));
    CHECK(is_program == (visited == 0));
    if (is_program) CHECK(*image.name == 0);
    with_function += is_program ? 1 : 0;
    with_getppid += holds(image, getppid) ? 1 : 0;
    ++visited;
  });
  CHECK(visited >= 3);
  CHECK(with_function == 1);
  CHECK(with_getppid == 1);
}

TEST_CASE("counts change with every module that comes or goes") {
  const os::LoaderCounts before = os::loader_counts();
  CHECK(os::loader_counts() == before);
  void* const handle = dlopen("libanl.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return;
  const os::LoaderCounts opened = os::loader_counts();
  CHECK(opened.loaded > before.loaded);
  CHECK(opened.unloaded == before.unloaded);
  dlclose(handle);
  CHECK(os::loader_counts().unloaded > before.unloaded);
}

TEST_CASE("the loader and the kernel's library are known by their addresses in the list") {
  const auto listed = biases();
  for (const std::uintptr_t address : {os::loader_address(), os::vdso_address()}) {
    if (address == 0) continue;
    CHECK(std::find(listed.begin(), listed.end(), address) != listed.end());
  }
  CHECK(os::loader_address() != 0);
}
