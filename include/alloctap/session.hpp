/// A scope guard for the time during which a tracker records.
#pragma once

#include <utility>

namespace alloctap {

/// The result of `Tracker::start`; its destructor stops recording. Move-only; may outlive main.
class [[nodiscard]] Session {
 public:
  explicit Session(void (*stop)() noexcept) noexcept : stop_(stop) {}
  Session(Session&& other) noexcept : stop_(std::exchange(other.stop_, nullptr)) {}
  Session& operator=(Session&& other) noexcept {
    if (this != &other) {
      end();
      stop_ = std::exchange(other.stop_, nullptr);
    }
    return *this;
  }
  ~Session() { end(); }

  /// Stops recording. If a dump's output calls this, recording stops when the dump has ended. Later
  /// calls do nothing.
  void end() noexcept {
    if (auto* stop = std::exchange(stop_, nullptr); stop != nullptr) stop();
  }

 private:
  void (*stop_)() noexcept;
};

}  // namespace alloctap
