/// What the tracked program and its symbolizing helper say to each other, over one socket.
///
/// The program sends, for each module, a `ModuleRequest`, the module's path and its addresses
/// (`std::uintptr_t`), then ends its side. The helper answers with a `FrameAnswer` and its two
/// texts for each frame, and last with `kEndOfAnswers`; an answer without that is not whole. Both
/// are of one build, on one machine: structures go as they lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace alloctap::run {

/// The helper's name, in the directory of the preloaded object.
inline constexpr std::string_view kHelperName = "alloctap-symbolize";

struct ModuleRequest {
  /// The id of the process that has the module.
  std::int64_t process = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t bias = 0;
  std::uint64_t path_bytes = 0;
  std::uint64_t places = 0;
  std::uint64_t build_id_bytes = 0;
  /// As `Module::is_gone`.
  std::uint64_t is_gone = 0;
  std::byte build_id[32] = {};
};

struct FrameAnswer {
  /// The number of the place, counted over all modules.
  std::uint32_t place = 0;
  std::uint32_t line = 0;
  std::uint32_t function_bytes = 0;
  std::uint32_t file_bytes = 0;
};

inline constexpr std::uint32_t kEndOfAnswers = UINT32_MAX;
/// The place of an answer whose first text is a hint for the user.
inline constexpr std::uint32_t kHint = UINT32_MAX - 1;

/// Takes values and texts off the front of bytes; every function returns false where there are not
/// so many.
class ExchangeReader {
 public:
  explicit ExchangeReader(std::string_view bytes) noexcept : rest_(bytes) {}

  template <class T>
  [[nodiscard]] bool read(T& value) noexcept {
    if (rest_.size() < sizeof value) return false;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return true;
  }

  [[nodiscard]] bool read_text(std::size_t bytes, std::string_view& text) noexcept {
    if (rest_.size() < bytes) return false;
    text = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return true;
  }

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace alloctap::run
