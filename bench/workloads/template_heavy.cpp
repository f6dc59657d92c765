// What compilers are given to compile: much of the standard library, and templates of its own.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace {

template <int kNumber>
struct Item {
  std::array<char, kNumber % 64 + 1> payload;
  friend bool operator<(const Item&, const Item&) { return false; }
};

/// Instantiates containers and algorithms over a type that no other call has.
template <int kNumber>
std::size_t use_containers() {
  std::vector<Item<kNumber>> items(3);
  std::sort(items.begin(), items.end());
  std::map<int, Item<kNumber>> by_number{{kNumber, items.front()}};
  std::set<Item<kNumber>> ordered(items.begin(), items.end());
  std::function<std::size_t(const Item<kNumber>&)> size = [](const auto& item) {
    return item.payload.size();
  };
  std::variant<int, Item<kNumber>> either = items.back();
  const auto shared = std::make_shared<std::tuple<Item<kNumber>, std::string>>();
  return std::visit([](const auto& value) { return sizeof(value); }, either) + by_number.size() +
         ordered.size() + size(std::get<0>(*shared));
}

template <int... kNumbers>
std::size_t use_many(std::integer_sequence<int, kNumbers...>) {
  return (use_containers<kNumbers>() + ...);
}

template <int kNumber>
struct Fibonacci {
  static constexpr unsigned long value =
      Fibonacci<kNumber - 1>::value + Fibonacci<kNumber - 2>::value;
};
template <>
struct Fibonacci<1> {
  static constexpr unsigned long value = 1;
};
template <>
struct Fibonacci<0> {
  static constexpr unsigned long value = 0;
};

}  // namespace

std::size_t instantiate_everything(const std::string& text) {
  const std::unordered_map<std::string, int> counts{{text, 1}};
  return use_many(std::make_integer_sequence<int, 3>{}) + Fibonacci<90>::value + counts.size();
}
