#include "alloctap/hook/plt/engine.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "alloctap/os/module_symbols.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/status.hpp"

namespace {

using namespace alloctap;

constexpr int kMarked = 23456;
std::uintptr_t published = 0;

int stand_in() { return kMarked; }
int call() { return static_cast<int>(::getppid()); }
void publish(std::uintptr_t original) noexcept { published = original; }

bool is_this_program(std::string_view path) {
  char buffer[4096];
  return path == os::executable_path(buffer);
}

/// One function in the state that all share, and what chooses modules for it.
class OneFunction {
 public:
  explicit OneFunction(const char* name = "getppid") {
    published = 0;
    plt_state().targets.clear();
    REQUIRE(plt_state().targets.add({.name = name,
                                     .handler = reinterpret_cast<std::uintptr_t>(&stand_in),
                                     .group = 0,
                                     .publish = &publish}));
    selection.modules_where(&is_this_program);
    plt_state().selections = selections_;
  }
  ~OneFunction() {
    uninstall();
    selection.clear();
    plt_state().selections = {};
    plt_state().targets.clear();
  }
  OneFunction(const OneFunction&) = delete;
  OneFunction& operator=(const OneFunction&) = delete;

  static alloctap::Status install() {
    const ReentrancyGuard guard;
    const std::lock_guard hold(control_lock);
    return PltEngine::install();
  }
  static void uninstall() {
    const ReentrancyGuard guard;
    const std::lock_guard hold(control_lock);
    PltEngine::uninstall();
  }

  ModuleSelection selection;

 private:
  std::array<const ModuleSelection*, 1> selections_{&selection};
};

bool is_cpp_library(std::string_view path) { return path.find("libstdc++") != path.npos; }

/// What the loader does last of all to that library, taken back, as if it were not done yet.
class UnfinishedLibrary {
 public:
  UnfinishedLibrary() {
    os::visit_loaded_images([this](const os::LoadedImage& image) {
      if (!is_cpp_library(image.name)) return;
      for (const auto& segment : image.segments) {
        if (segment.p_type != PT_GNU_RELRO) continue;
        const std::uintptr_t page = ~(os::page_size() - 1);
        start_ = (image.bias + segment.p_vaddr) & page;
        end_ = (image.bias + segment.p_vaddr + segment.p_memsz) & page;
      }
    });
    REQUIRE(start_ < end_);
    REQUIRE(os::protect_pages(start_, end_ - start_, {.readable = true, .writable = true}));
  }
  void finish() const {
    REQUIRE(os::protect_pages(start_, end_ - start_, {.readable = true, .writable = false}));
  }

 private:
  std::uintptr_t start_ = 0;
  std::uintptr_t end_ = 0;
};

}  // namespace

TEST_CASE("the original is published before slots lead to the handler, and stays behind them") {
  const int parent = call();
  OneFunction one;
  REQUIRE(one.install() == alloctap::Status());
  CHECK(PltState::active);
  CHECK(published == reinterpret_cast<std::uintptr_t>(os::default_symbol("getppid")));
  CHECK(call() == kMarked);
  CHECK(PltEngine::report().hooked_slots >= 1);
  one.uninstall();
  CHECK_FALSE(PltState::active);
  CHECK(call() == parent);
  CHECK(PltEngine::report().hooked_slots == 0);
}

TEST_CASE("a wrong pattern comes back from the start") {
  OneFunction one;
  CHECK_FALSE(one.selection.modules_matching("a(").ok());
  CHECK(one.install().code() == alloctap::StatusCode::kInvalidArgument);
  CHECK_FALSE(PltState::active);
  CHECK(call() != kMarked);
}

TEST_CASE("where no chosen module imports a function, nothing can be hooked, and each says why") {
  OneFunction one("no_such_function_anywhere");
  const alloctap::Status status = one.install();
  CHECK(status.code() == alloctap::StatusCode::kFailedPrecondition);
  const std::string message(status.message());
  CHECK(message.find("no slot was hooked") != message.npos);
  CHECK(message.find("it imports none of the functions") != message.npos);
  CHECK(message.find("no pattern chooses it") != message.npos);
  CHECK_FALSE(PltState::active);
}

TEST_CASE("a module that the loader is at work on is hooked when that is done") {
  OneFunction one("__cxa_finalize");
  one.selection.clear();
  one.selection.modules_where(&is_cpp_library);
  const UnfinishedLibrary library;
  CHECK(one.install() == alloctap::Status());
  const std::uint64_t elsewhere = PltEngine::report().hooked_slots;
  library.finish();
  CHECK(PltEngine::refresh());
  CHECK(PltEngine::report().hooked_slots == elsewhere + 1);
}

TEST_CASE("a slot that was given back is hooked anew by a refresh, if it is on") {
  OneFunction one;
  REQUIRE(one.install() == alloctap::Status());
  PltPass(plt_state(), PltAction::kUnhook).run();
  REQUIRE(call() != kMarked);
  CHECK(PltEngine::refresh());
  CHECK(call() == kMarked);
  one.uninstall();
  CHECK(PltEngine::refresh());
  CHECK(call() != kMarked);
}

TEST_CASE("a refresh does not wait for ever for who may wait for the loader, and that is counted") {
  OneFunction one;
  REQUIRE(one.install() == alloctap::Status());
  PltPass(plt_state(), PltAction::kUnhook).run();
  CHECK(PltState::refreshes_put_off.load() == 0);
  {
    const std::lock_guard hold(control_lock);
    CHECK_FALSE(PltEngine::refresh());
    CHECK(call() != kMarked);
    CHECK(PltState::refreshes_put_off.load() == 1);
  }
  CHECK(PltEngine::refresh());
  CHECK(call() == kMarked);
  CHECK(PltState::refreshes_put_off.load() == 1);
  one.uninstall();
  REQUIRE(one.install() == alloctap::Status());
  CHECK(PltState::refreshes_put_off.load() == 0);
}

TEST_CASE("the counts of the last walk are those of the loader") {
  OneFunction one;
  PltState::loaded = 0;
  REQUIRE(one.install() == alloctap::Status());
  CHECK(PltState::last_counts() == os::loader_counts());
}
