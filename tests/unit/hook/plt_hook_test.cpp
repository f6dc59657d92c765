#include "alloctap/hook/plt_hook.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "alloctap/status.hpp"
#include "tests/support/fakes.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::SinkFunction;

struct PltHookTest;
using Sink = alloctap::testing::FakeSink<PltHookTest>;

/// What the tests of this program are compiled into.
bool is_this_program(std::string_view path) {
  char buffer[4096];
  return path == os::executable_path(buffer);
}

/// An installed hook that leaves nothing behind.
class Installed {
 public:
  explicit Installed(ModuleSelection::Predicate predicate = &is_this_program) {
    Sink::clear();
    if (predicate != nullptr) PltHook::modules_where(predicate);
    const std::lock_guard hold(control_lock);
    const ReentrancyGuard guard;
    status_ = PltHook::install<Sink>();
  }
  ~Installed() {
    {
      const std::lock_guard hold(control_lock);
      const ReentrancyGuard guard;
      PltHook::uninstall();
    }
    PltHook::clear_modules();
  }
  Installed(const Installed&) = delete;
  Installed& operator=(const Installed&) = delete;

  const alloctap::Status& status() const { return status_; }

 private:
  alloctap::Status status_;
};

std::size_t allocations_of(std::size_t size) {
  std::size_t count = 0;
  for (const auto& call : Sink::calls()) {
    count += call.function == SinkFunction::kAllocate && call.size == size ? 1 : 0;
  }
  return count;
}

/// A block that the compiler must allocate.
void allocate_and_free(std::size_t size) {
  void* volatile block = std::malloc(size);
  std::free(block);
}

bool holds(const alloctap::Status& status, std::string_view text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("calls from a chosen module are seen, until the hook is gone") {
  {
    const Installed hook;
    REQUIRE(hook.status() == alloctap::Status());
    allocate_and_free(12345);
    CHECK(allocations_of(12345) == 1);
    char* volatile block = new char[23456];
    delete[] block;
    CHECK(allocations_of(23456) == 1);
    const PltReport report = PltHook::report();
    CHECK(report.hooked_slots > 0);
    CHECK(report.warnings.empty());
  }
  allocate_and_free(12345);
  CHECK(allocations_of(12345) == 1);
  CHECK(PltHook::report().hooked_slots == 0);
}

TEST_CASE("calls from a module that is left out are not seen") {
  REQUIRE(PltHook::modules_not_matching("libc\\.so").ok());
  REQUIRE(PltHook::modules_matching("libstdc\\+\\+").ok());
  const Installed hook(nullptr);
  REQUIRE(hook.status() == alloctap::Status());
  allocate_and_free(12345);
  CHECK(allocations_of(12345) == 0);
  for (const PltModuleReport& module : PltHook::report().modules) {
    CAPTURE(module.path);
    CHECK((module.hooked > 0) == (module.path.find("libstdc++") != std::string::npos));
    if (module.hooked == 0) CHECK(module.why == "no pattern chooses it");
  }
}

TEST_CASE("a pattern with an error hooks nothing") {
  CHECK_FALSE(PltHook::modules_matching("lib(").ok());
  const Installed hook(nullptr);
  CHECK(hook.status().code() == alloctap::StatusCode::kInvalidArgument);
  CHECK(holds(hook.status(), "at character 4"));
  allocate_and_free(12345);
  CHECK(allocations_of(12345) == 0);
}

TEST_CASE("patterns without effect are told, and wait for modules that are opened later") {
  REQUIRE(PltHook::modules_matching("no such module").ok());
  REQUIRE(PltHook::modules_matching("libm\\.so").ok());
  REQUIRE(PltHook::modules_not_matching("neither is this").ok());
  const Installed hook(nullptr);
  REQUIRE(hook.status() == alloctap::Status());
  const PltReport report = PltHook::report();
  CHECK(report.hooked_slots == 0);
  CHECK(report.warnings == std::vector<std::string>{
                               "pattern \"no such module\" matches no loaded module",
                               "pattern \"libm\\.so\" matches 1 module, which has nothing to hook",
                               "pattern \"neither is this\" matches no loaded module"});
}

TEST_CASE("mappings are seen where they were asked for") {
  const auto mappings = [] {
    void* const pages = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages, 8192);
    std::size_t count = 0;
    for (const auto& call : Sink::calls()) count += call.function == SinkFunction::kMap ? 1 : 0;
    return count;
  };
  {
    const Installed hook;
    CHECK(mappings() == 0);
  }
  PltHook::group<MappingFunctions>().modules_where(&is_this_program);
  const Installed hook;
  CHECK(mappings() == 1);
}

TEST_CASE("a module can be left alone by address") {
  PltState::left_alone = {};
  REQUIRE(PltHook::leave_alone(reinterpret_cast<const void*>(&is_this_program)));
  {
    const Installed hook;
    REQUIRE(hook.status() == alloctap::Status());
    allocate_and_free(12345);
    CHECK(allocations_of(12345) == 0);
  }
  PltState::left_alone = {};
}

TEST_CASE("what is closed is told before and after, unless the program's dlclose tells it") {
  const auto closings = [] {
    Sink::clear();
    dlclose(dlopen(nullptr, RTLD_NOW));
    std::vector<SinkFunction> told;
    for (const auto& call : Sink::calls()) {
      const bool is_of_modules = call.function == SinkFunction::kModulesUnloading ||
                                 call.function == SinkFunction::kModulesUnloaded;
      if (is_of_modules) told.push_back(call.function);
    }
    return told;
  };
  const Installed hook;
  CHECK(closings() == std::vector{SinkFunction::kModulesUnloading, SinkFunction::kModulesUnloaded});
  PltHook::reports_modules();
  CHECK(closings().empty());
  PltHook::reports_modules(false);
}
