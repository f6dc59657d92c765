// Case 25 of hook backends: libraries that come and go, and hooks that do so under load.
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "alloctap/os/windows/api.hpp"
#include "tests/contract/hooks/hooked_program.hpp"
#include "tests/contract/windows/plugin.hpp"

namespace {

using namespace alloctap::testing;

HMODULE load_plugin() { return ::LoadLibraryA(ALLOCTAP_WINDOWS_PLUGIN); }

template <class Function>
Function* plugin_function(HMODULE plugin, const char* name) {
  return reinterpret_cast<Function*>(reinterpret_cast<void*>(::GetProcAddress(plugin, name)));
}

/// Every kind of call that backends see.
void allocate_all() {
  const HANDLE heap = ::GetProcessHeap();
  void* const block = escape(::HeapAlloc(heap, 0, 100));
  void* const moved = escape(::HeapReAlloc(heap, 0, block, 5000));
  ::HeapFree(heap, 0, moved);
  std::free(escape(std::malloc(200)));
  void* const pages = ::VirtualAlloc(nullptr, 8192, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  ::VirtualFree(pages, 0, MEM_RELEASE);
  const HANDLE own = ::HeapCreate(0, 0, 0);
  static_cast<void>(escape(::HeapAlloc(own, 0, 300)));
  ::HeapDestroy(own);
}

}  // namespace

TEST_CASE("case 25: a library that is loaded later is seen, its DllMain included") {
  const Recording recording;
  const EventCount count;
  const HMODULE plugin = load_plugin();
  const EventTotals loaded = count.so_far();
  const auto allocate = plugin_function<PluginAllocate>(plugin, "plugin_allocate");
  const auto release = plugin_function<PluginFree>(plugin, "plugin_free");
  const EventCount calls;
  void* const block = escape(allocate(777));
  const EventTotals made = calls.so_far();
  release(block);
  const EventTotals gone = calls.so_far();
  const EventCount unload;
  ::FreeLibrary(plugin);
  const EventTotals unloaded = unload.so_far();
  CHECK(loaded.live_bytes >= kBytesOfDllMain);
  CHECK(made.allocations == 1);
  CHECK(made.live_bytes == 777);
  CHECK(gone.live_bytes == 0);
  CHECK(unloaded.deallocations >= 1);
  CHECK(unloaded.allocated_bytes == 0);
}

TEST_CASE("case 25: it starts while another thread holds the heap's lock for a while") {
  std::atomic<bool> locked{false};
  std::thread holder([&] {
    ::HeapLock(::GetProcessHeap());
    locked = true;
    ::Sleep(300);
    ::HeapUnlock(::GetProcessHeap());
  });
  while (!locked) ::Sleep(1);
  {
    const Recording recording;
    const EventCount count;
    std::free(escape(std::malloc(100)));
    CHECK(count.so_far().allocations == 1);
  }
  holder.join();
}

TEST_CASE("case 25: it starts while another thread is in a DllMain for a while") {
  const HANDLE entered = ::CreateEventW(nullptr, FALSE, FALSE, kPluginEntered);
  REQUIRE(entered != nullptr);
  HMODULE plugin = nullptr;
  std::thread loader([&] { plugin = load_plugin(); });
  ::WaitForSingleObject(entered, INFINITE);
  {
    const Recording recording;
    const EventCount count;
    std::free(escape(std::malloc(100)));
    CHECK(count.so_far().allocations >= 1);
  }
  loader.join();
  ::CloseHandle(entered);
  CHECK(plugin != nullptr);
  ::FreeLibrary(plugin);
}

TEST_CASE("case 25: hooks that come and go under four threads do no harm, and miss nothing after") {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> rounds{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (; !stop; ++rounds) allocate_all();
    });
  }
  for (int i = 0; i < 40; ++i) {
    const Recording recording;
    if (i % 10 == 0) static_cast<void>(hooked_program.totals());
  }
  {
    const Recording recording;
    const std::uint64_t before = rounds;
    while (rounds < before + 100) ::Sleep(1);
    stop = true;
    for (std::thread& thread : threads) thread.join();
    // What went while nobody looked has a record still, until its address is handed out again.
    for (int i = 0; i < 20; ++i) allocate_all();
    const EventCount count;
    allocate_all();
    const EventTotals totals = count.so_far();
    CHECK(totals.allocations == 4);
    CHECK(totals.deallocations == 4);
    CHECK(totals.live_bytes == 0);
    CHECK(totals.mapped_bytes == 0);
  }
  CHECK(rounds > 100);
}
