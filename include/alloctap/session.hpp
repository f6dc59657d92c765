/// The time in which a tracker records.
#pragma once

#include <utility>

namespace alloctap {

/// Ends the recording in its destructor. Move-only; may outlive main.
class [[nodiscard]] Session {
 public:
  /// `stop` ends what the session stands for. Sessions come from `Tracker::start`.
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

  /// Ends the recording now. Does nothing the second time.
  void end() noexcept {
    if (auto* stop = std::exchange(stop_, nullptr); stop != nullptr) stop();
  }

 private:
  void (*stop_)() noexcept;
};

}  // namespace alloctap
