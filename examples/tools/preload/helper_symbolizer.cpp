#include "helper_symbolizer.hpp"

#include <alloctap/os/thread.hpp>
#include <alloctap/runtime/arena_array.hpp>
#include <alloctap/symbol/absl_symbolizer.hpp>
#include <alloctap/symbol/module_table.hpp>
#include <array>
#include <atomic>
#include <cstring>

#include "children_hint.hpp"
#include "final_report.hpp"
#include "helper_process.hpp"
#include "name_cache.hpp"
#include "symbol_exchange.hpp"

namespace alloctap::run {
namespace {

using Bytes = ArenaArray<char>;

constexpr std::size_t kPathBytes = 4096;

/// The helper's path: in the directory of the object that this function is in. False if unknown.
bool find_helper(std::array<char, kPathBytes>& path) noexcept {
  const ModuleTable modules = ModuleTable::read();
  const Module* own = modules.find(reinterpret_cast<std::uintptr_t>(&find_helper));
  if (own == nullptr) return false;
  const std::string_view directory = own->path.substr(0, own->path.rfind('/') + 1);
  if (directory.size() + kHelperName.size() >= path.size()) return false;
  std::memcpy(path.data(), directory.data(), directory.size());
  std::memcpy(path.data() + directory.size(), kHelperName.data(), kHelperName.size());
  path[directory.size() + kHelperName.size()] = '\0';
  return true;
}

template <class T>
bool send(HelperProcess& helper, const T& value) noexcept {
  return helper.send({reinterpret_cast<const char*>(&value), sizeof value});
}

/// Asks for `places`, which are of one module.
bool send_request(HelperProcess& helper, const Module& module,
                  std::span<const CodeAddress> places) noexcept {
  ModuleRequest request{.process = os::current_process_id(),
                        .start = module.start,
                        .end = module.end,
                        .bias = module.bias,
                        .path_bytes = module.path.size(),
                        .places = places.size(),
                        .build_id_bytes = module.build_id_bytes,
                        .is_gone = module.is_gone};
  std::memcpy(request.build_id, module.build_id, sizeof request.build_id);
  ArenaArray<std::uintptr_t> addresses;
  if (!addresses.reserve(places.size())) return false;
  for (const CodeAddress& place : places) static_cast<void>(addresses.push_back(place.address));
  return send(helper, request) && helper.send(module.path) &&
         helper.send({reinterpret_cast<const char*>(addresses.data()),
                      addresses.size() * sizeof(std::uintptr_t)});
}

bool send_requests(HelperProcess& helper, std::span<const CodeAddress> places) noexcept {
  // Places in no module are asked of one without a file, so that all are counted alike.
  const Module nowhere;
  for (std::size_t first = 0, end = 0; first < places.size(); first = end) {
    const Module* module = places[first].module;
    while (end < places.size() && places[end].module == module) ++end;
    if (!send_request(helper, module == nullptr ? nowhere : *module,
                      places.subspan(first, end - first))) {
      return false;
    }
  }
  helper.end_of_sending();
  return true;
}

/// All that the helper says, in `bytes`, which may be longer; nothing where it breaks off.
std::string_view receive_all(HelperProcess& helper, Bytes& bytes) noexcept {
  constexpr std::size_t kPiece = 64 * 1024;
  for (std::size_t used = 0;;) {
    if (bytes.size() < used + kPiece && !bytes.resize(2 * (used + kPiece))) return {};
    const std::ptrdiff_t count = helper.receive(bytes.data() + used, bytes.size() - used);
    if (count < 0) return {};
    if (count == 0) return {bytes.data(), used};
    used += static_cast<std::size_t>(count);
  }
}

/// Calls `visit(place, frame)` for each answer; false where they are not whole.
template <class Visit>
bool read_answers(std::string_view bytes, Visit&& visit) noexcept {
  ExchangeReader reader(bytes);
  for (FrameAnswer answer; reader.read(answer);) {
    if (answer.place == kEndOfAnswers) return reader.at_end();
    SourceFrame frame{.function = {}, .file = {}, .line = answer.line};
    if (!reader.read_text(answer.function_bytes, frame.function) ||
        !reader.read_text(answer.file_bytes, frame.file)) {
      return false;
    }
    visit(answer.place, frame);
  }
  return false;
}

/// Each report asks anew, and each is answered with the hint.
void give_hint(std::string_view text) noexcept {
  static constinit std::atomic<bool> given{false};
  if (!given.exchange(true)) print_line(text);
}

bool ask_helper(std::span<const CodeAddress> places, Symbols& symbols) noexcept {
  std::array<char, kPathBytes> path;
  HelperProcess helper;
  Bytes bytes;
  note_helper();
  if (!find_helper(path) || !helper.start(path.data()) || !send_requests(helper, places)) {
    return false;
  }
  const std::string_view answers = receive_all(helper, bytes);
  // Half of the frames of a place would say something else than all of them.
  if (!read_answers(answers, [](std::size_t, const SourceFrame&) {})) return false;
  return read_answers(answers, [&](std::size_t place, const SourceFrame& frame) {
    if (place == kHint) return give_hint(frame.function);
    symbols.add(place, frame);
  });
}

/// Returns whether the names are the helper's; otherwise they are Abseil's.
bool ask(std::span<const CodeAddress> places, Symbols& symbols) noexcept {
  if (places.empty() || ask_helper(places, symbols)) return true;
  AbslSymbolizer::symbolize(places, symbols);
  return false;
}

/// Those of some places that are not in the cache. Memory from the arena.
class MissingPlaces {
 public:
  /// Begins with all of `places`. Returns false if out of memory.
  [[nodiscard]] bool begin(std::span<const CodeAddress> places) noexcept {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!places_.push_back(places[i]) || !numbers_.push_back(i)) return false;
    }
    return true;
  }

  /// Adds those that are in the cache to `symbols`; returns whether that is all.
  bool look_up(Symbols& symbols) noexcept {
    std::size_t left = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (NameCache::find(places_[i], numbers_[i], symbols)) continue;
      places_[left] = places_[i];
      numbers_[left++] = numbers_[i];
    }
    places_.shrink(left);
    numbers_.shrink(left);
    return left == 0;
  }

  /// Finds the names of all, and adds them to `symbols` and to the cache.
  void ask_for_all(Symbols& symbols) noexcept {
    Symbols answers;
    if (!answers.expect(places_.size())) return;
    const bool by_helper = ask({places_.data(), places_.size()}, answers);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      for (const SourceFrame& frame : answers.of(i)) symbols.add(numbers_[i], frame);
      if (by_helper) NameCache::add(places_[i], answers.of(i));
    }
  }

 private:
  ArenaArray<CodeAddress> places_;
  /// Their positions in what `begin` was given.
  ArenaArray<std::size_t> numbers_;
};

}  // namespace

void HelperSymbolizer::symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept {
  MissingPlaces missing;
  if (!NameCache::exists() || !missing.begin(places)) {
    ask(places, symbols);
    return;
  }
  bool is_my_turn = false;
  while (!missing.look_up(symbols) && !is_my_turn) is_my_turn = NameCache::take_turn();
  if (!is_my_turn) return;
  missing.ask_for_all(symbols);
  NameCache::end_turn();
}

}  // namespace alloctap::run
