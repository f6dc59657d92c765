// A library with a tracker of its own, by each backend that there is.
#include "tests/contract/windows/tracker_library.hpp"

#include <optional>
#include <string_view>

#include "alloctap/hook/windows_heap_hook.hpp"
#include "alloctap/hook/windows_import_hook.hpp"
#include "alloctap/implement.hpp"
#include "alloctap/os/windows/api.hpp"

namespace {

using namespace alloctap;
using testing::LibraryTracker;

template <class UsedHook>
struct Tracked {
  struct Config : DefaultConfig {
    using Hook = UsedHook;
    // With a thread of its own.
    using Queue = BufferQueue;
  };
  using Used = Tracker<Config>;

  static bool start() {
    auto started = Used::start();
    if (started.ok()) session = *std::move(started);
    return started.ok();
  }
  static void end() { session.reset(); }

  static void allocate() {
    void* const block = ::HeapAlloc(::GetProcessHeap(), 0, 1000);
    if constexpr (requires { UsedHook::on_free(block); }) {
      UsedHook::on_allocate(block, 1000);
      UsedHook::on_free(block);
    }
    ::HeapFree(::GetProcessHeap(), 0, block);
  }

  static std::uint64_t allocations() {
    const auto now = Used::snapshot();
    return now.ok() ? now->totals.allocations : 0;
  }

  static constexpr LibraryTracker tracker{&start, &end, &allocate, &allocations};
  static inline std::optional<Session> session;
};

template <class Hook>
const LibraryTracker* tracker_of(std::string_view hook) {
  return hook == Hook::name ? &Tracked<Hook>::tracker : nullptr;
}

}  // namespace

extern "C" __declspec(dllexport) const LibraryTracker* library_tracker(const char* hook) {
  for (const auto find :
       {&tracker_of<WindowsHeapHook>, &tracker_of<WindowsImportHook>, &tracker_of<ManualHook<>>}) {
    if (const LibraryTracker* const found = find(hook); found != nullptr) return found;
  }
  return nullptr;
}
