#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "families.hpp"
#include "hidden.hpp"
#include "threads.hpp"

namespace corpus {
namespace {

constexpr Misuse kReadFreed{Kind::kReadAfterFree, kFreedPage};
constexpr Misuse kFreedTwice{Kind::kDoubleFree, kCalls};

const std::string long_text = "longer than what a string keeps inside of itself";

void read_through_old_iterator() {
  std::vector<int> numbers(16, 1);
  const auto old = reinterpret_cast<const char*>(numbers.data());
  numbers.resize(1000);
  read_byte(old, 0);
}

void read_view_of_dead_string() {
  std::string_view view;
  {
    const std::string text = long_text;
    view = text;
    use(text.data());
  }
  read_byte(view.data(), 0);
}

void read_erased_element() {
  std::map<int, int> squares{{1, 1}, {2, 4}};
  const auto* const old = reinterpret_cast<const char*>(&squares[2]);
  squares.erase(2);
  read_byte(old, 0);
}

void write_behind_vector() {
  std::vector<char> bytes(64);
  write_byte(bytes.data(), 64);
}

void own_twice() {
  const std::unique_ptr<long> one{new long{1}};
  const std::unique_ptr<long> other{hidden(one.get())};
}

void share_twice() {
  const std::shared_ptr<long> one{new long{1}};
  const std::shared_ptr<long> other{hidden(one.get())};
}

void free_data_of_vector() {
  auto* const numbers = hidden(new std::vector<int>(16, 1));
  std::free(hidden(numbers->data()));
  // Its destructor would be a second misuse.
  ::operator delete(numbers);
}

void delete_array_as_one() { const std::unique_ptr<char> text{hidden(new char[64])}; }

struct Base {
  int number = 0;
};
struct Derived : Base {
  char more[60] = {};
};

/// The destructor is not virtual.
void delete_as_base() {
  Base* const base = hidden(static_cast<Base*>(new Derived));
  delete base;
}

struct VirtualBase {
  virtual ~VirtualBase() = default;
};
struct VirtualDerived : VirtualBase {
  char more[60] = {};
};

void delete_as_virtual_base() {
  VirtualBase* const base = hidden(static_cast<VirtualBase*>(new VirtualDerived));
  delete base;
}

void grow_containers() {
  std::vector<std::string> texts;
  std::map<std::string, std::vector<int>> lists;
  for (int i = 0; i < 200; ++i) {
    texts.push_back(long_text + std::to_string(i));
    lists[texts.back()].assign(static_cast<std::size_t>(i), i);
  }
  texts.erase(texts.begin(), texts.begin() + 50);
  require(texts.size() == 150 && lists.size() == 200, "containers hold what was put into them");
}

void share_with_thread() {
  auto shared = std::make_shared<std::string>(long_text);
  const std::function<void()> read = [copy = shared] {
    require(*copy == long_text, "a thread reads what it was handed");
  };
  shared.reset();
  run_on(Thread::kOther, read);
}

void throw_and_catch() {
  bool caught = false;
  try {
    const std::vector<std::string> unwound(10, long_text);
    use(&unwound);
    throw std::runtime_error{long_text};
  } catch (const std::exception& error) {
    caught = error.what() == long_text;
  }
  require(caught, "an exception arrives with its text");
}

void carve_from_pool() {
  std::pmr::monotonic_buffer_resource pool{4096};
  std::pmr::vector<std::pmr::string> texts{&pool};
  for (int i = 0; i < 100; ++i) {
    texts.emplace_back(long_text);
  }
  require(texts.back() == std::string_view{long_text}, "a pool's strings hold their text");
}

void fill_static_container() {
  static std::vector<std::string> texts;
  texts.assign(20, long_text);
}

struct Variant {
  const char* name;
  Misuse misuse;
  void (*run)();
};

constexpr Variant kVariants[] = {
    {"vector/old_iterator", kReadFreed, read_through_old_iterator},
    {"vector/behind_the_end", {Kind::kWriteAfter, kGuardBytes | kPageAfter}, write_behind_vector},
    {"vector/data_freed", {Kind::kMismatchedRelease, kCalls}, free_data_of_vector},
    {"vector/good_growing", kGood, grow_containers},
    {"vector/good_static", kGood, fill_static_container},
    {"string_view/of_dead_string", kReadFreed, read_view_of_dead_string},
    {"map/erased_element", kReadFreed, read_erased_element},
    {"unique_ptr/two_owners", kFreedTwice, own_twice},
    {"unique_ptr/of_array", {Kind::kMismatchedRelease, kCalls}, delete_array_as_one},
    {"shared_ptr/two_owners", kFreedTwice, share_twice},
    {"shared_ptr/good_with_thread", kGood, share_with_thread},
    {"destructor/not_virtual", {Kind::kWrongSize, kCalls}, delete_as_base},
    {"destructor/good_virtual", kGood, delete_as_virtual_base},
    {"exception/good_unwinding", kGood, throw_and_catch},
    {"pmr/good_pool", kGood, carve_from_pool},
};

}  // namespace

void add_library(Cases& cases) {
  for (const Variant& variant : kVariants) {
    for (const Thread thread : kBothThreads) {
      cases.add({"library", variant.name, name_of(thread)}, variant.misuse,
                [&](auto&) { run_on(thread, variant.run); });
    }
  }
}

}  // namespace corpus
