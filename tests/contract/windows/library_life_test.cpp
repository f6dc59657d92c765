// A library with a tracker of its own that a program frees, though threads are in its code, or the
// loader is to call it.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/contract/windows/tracker_library.hpp"
#include "tests/support/child_process.hpp"

namespace {

using namespace alloctap::testing;

HMODULE load_library() { return ::LoadLibraryA(ALLOCTAP_TRACKER_LIBRARY); }

const LibraryTracker* tracker_of(HMODULE library, const std::string& hook) {
  const auto find = reinterpret_cast<GetLibraryTracker*>(
      reinterpret_cast<void*>(::GetProcAddress(library, "library_tracker")));
  return find == nullptr ? nullptr : find(hook.c_str());
}

void allocate() {
  void* volatile const block = std::malloc(1000);
  std::free(block);
}

/// All that a tracker is told of, by hooks or by the loader.
void live_on() {
  for (int i = 0; i < 100; ++i) {
    allocate();
    ::VirtualFree(::VirtualAlloc(nullptr, 4096, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE), 0,
                  MEM_RELEASE);
  }
  std::thread(&allocate).join();
  ::FreeLibrary(::LoadLibraryA(ALLOCTAP_WINDOWS_PLUGIN));
}

const std::string kHooks[] = {"windows-heap", "windows-imports", "manual"};

}  // namespace

TEST_CASE("a library whose tracker has ended is freed, the program goes on, and it starts again") {
  for (const std::string& hook : kHooks) {
    CAPTURE(hook);
    CHECK(holds_in_child([&] {
      const HMODULE library = load_library();
      const LibraryTracker* const tracker = tracker_of(library, hook);
      if (tracker == nullptr || !tracker->start()) return false;
      tracker->allocate();
      const bool saw = tracker->allocations() >= 1;
      std::atomic<bool> freed{false};
      std::thread inside_hooks([&] {
        while (!freed) allocate();
      });
      ::Sleep(10);
      tracker->end();
      ::FreeLibrary(library);
      live_on();
      freed = true;
      inside_hooks.join();
      return saw && load_library() == library && tracker->start();
    }));
  }
}

TEST_CASE("a library whose tracker runs stays when it is freed, and so does the tracker") {
  for (const std::string& hook : kHooks) {
    CAPTURE(hook);
    CHECK(holds_in_child([&] {
      const HMODULE library = load_library();
      const LibraryTracker* const tracker = tracker_of(library, hook);
      if (tracker == nullptr || !tracker->start()) return false;
      ::FreeLibrary(library);
      live_on();
      if (::GetModuleHandleA(ALLOCTAP_TRACKER_LIBRARY) != library) return false;
      const std::uint64_t before = tracker->allocations();
      tracker->allocate();
      return tracker->allocations() > before;
    }));
  }
}

TEST_CASE("a program ends though a library's tracker runs") {
  for (const std::string& hook : kHooks) {
    CAPTURE(hook);
    CHECK(holds_in_child([&] {
      const LibraryTracker* const tracker = tracker_of(load_library(), hook);
      if (tracker == nullptr || !tracker->start()) return false;
      live_on();
      std::exit(static_cast<int>(ChildProcess::kHeld));
    }));
  }
}
