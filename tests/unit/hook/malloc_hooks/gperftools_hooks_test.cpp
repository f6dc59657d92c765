// Backend case 24: tcmalloc is absent, or has no place left.
#include "alloctap/hook/malloc_hooks/gperftools_hooks.hpp"

#include <doctest/doctest.h>

#include <string>

#include "alloctap/status.hpp"
#include "tests/support/fakes.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::HookFeed;

/// A tcmalloc with places for one hook of each kind.
struct FakeLibrary {
  using NewHook = void(const void*, std::size_t);
  using DeleteHook = void(const void*);

  static bool present() noexcept { return is_present; }
  static int add(NewHook* hook) noexcept { return add_to(on_new, hook); }
  static int add(DeleteHook* hook) noexcept { return add_to(on_delete, hook); }
  static int remove(NewHook* hook) noexcept { return remove_from(on_new, hook); }
  static int remove(DeleteHook* hook) noexcept { return remove_from(on_delete, hook); }

  static void reset() {
    is_present = true;
    on_new = nullptr;
    on_delete = nullptr;
  }

  static inline bool is_present = true;
  static inline NewHook* on_new = nullptr;
  static inline DeleteHook* on_delete = nullptr;

 private:
  template <class Hook>
  static int add_to(Hook*& place, Hook* hook) noexcept {
    if (place != nullptr) return 0;
    place = hook;
    return 1;
  }
  template <class Hook>
  static int remove_from(Hook*& place, Hook* hook) noexcept {
    if (place != hook) return 0;
    place = nullptr;
    return 1;
  }
};

using Hooks = alloctap::GperftoolsHooks<FakeLibrary>;
struct Tag;
using Sink = FakeSink<Tag>;

void another_new(const void*, std::size_t) {}
void another_delete(const void*) {}
int place;

}  // namespace

TEST_CASE("case 24, native: without tcmalloc its weak symbols are null, and that is said") {
  FakeLibrary::reset();
  FakeLibrary::is_present = false;
  const alloctap::Status status = Hooks::install();
  CHECK(status.code() == alloctap::StatusCode::kNotFound);
  CHECK(std::string(status.message()).find("-ltcmalloc") != std::string::npos);
  CHECK((FakeLibrary::on_new == nullptr));
}

TEST_CASE("case 24, native: where either kind of hook has no place, neither is left behind") {
  FakeLibrary::reset();
  FakeLibrary::on_new = &another_new;
  CHECK((Hooks::install()).code() == alloctap::StatusCode::kResourceExhausted);
  CHECK((FakeLibrary::on_new == &another_new));
  CHECK((FakeLibrary::on_delete == nullptr));
  FakeLibrary::reset();
  FakeLibrary::on_delete = &another_delete;
  CHECK((Hooks::install()).code() == alloctap::StatusCode::kResourceExhausted);
  CHECK((FakeLibrary::on_new == nullptr));
  CHECK((FakeLibrary::on_delete == &another_delete));
}

TEST_CASE("what tcmalloc tells reaches the sink, and its hooks can be taken back") {
  FakeLibrary::reset();
  REQUIRE(Hooks::install().ok());
  HookFeed::connect<Sink>();
  Sink::clear();
  FakeLibrary::on_new(&place, 100);
  FakeLibrary::on_delete(&place);
  FakeLibrary::on_delete(nullptr);
  HookFeed::disconnect();
  REQUIRE(Sink::count() == 2);
  CHECK(Sink::calls()[0].function == SinkFunction::kAllocate);
  CHECK(Sink::calls()[0].size == 100);
  CHECK(Sink::calls()[1].function == SinkFunction::kDeallocate);
  CHECK(Sink::calls()[1].size == 0);
  Hooks::uninstall();
  CHECK((FakeLibrary::on_new == nullptr));
  CHECK((FakeLibrary::on_delete == nullptr));
}
