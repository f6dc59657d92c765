/// What is in the game.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frame_arena.hpp"

namespace game {

struct Entity {
  float x = 0;
  float y = 0;
  std::string name;
};

class World {
 public:
  World() {
    said_.reserve(10'000);
    for (int i = 0; i < 500; ++i) {
      const auto place = static_cast<float>(i);
      entities_.push_back({place, place, "an entity by the number " + std::to_string(i)});
    }
  }

  /// On several threads at once. Needs memory for a moment.
  void collide() {
    std::vector<std::pair<int, int>> contacts;
    for (int i = 0; i + 1 < static_cast<int>(entities_.size()); i += 7) {
      contacts.emplace_back(i, i + 1);
    }
    const std::lock_guard hold(mutex_);
    contacts_ += contacts.size();
  }

  /// Nobody forgets what was said: 100 bytes for each frame.
  void say() { said_.push_back(std::make_unique<char[]>(100)); }

  void load_terrain(std::size_t bytes) { terrain_.resize(bytes); }

  void draw(FrameArena& arena) {
    for (std::size_t i = 0; i < entities_.size(); ++i) {
      auto* const vertex = static_cast<float*>(arena.allocate(2 * sizeof(float)));
      if (vertex == nullptr) return;
      vertex[0] = entities_[i].x;
      vertex[1] = entities_[i].y;
    }
  }

 private:
  std::vector<Entity> entities_;
  std::mutex mutex_;
  std::size_t contacts_ = 0;
  std::vector<std::unique_ptr<char[]>> said_;
  std::vector<char> terrain_;
};

}  // namespace game
