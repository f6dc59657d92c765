// What the server is for: it keeps notes.
#pragma once

#include <httplib.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

/// Texts by name. Thread-safe.
class Notes {
 public:
  void keep(const std::string& name, std::string text) {
    const std::lock_guard hold(lock_);
    texts_[name] = std::move(text);
  }

  [[nodiscard]] std::optional<std::string> find(const std::string& name) const {
    const std::lock_guard hold(lock_);
    const auto place = texts_.find(name);
    if (place == texts_.end()) return std::nullopt;
    return place->second;
  }

  bool forget(const std::string& name) {
    const std::lock_guard hold(lock_);
    return texts_.erase(name) == 1;
  }

 private:
  mutable std::mutex lock_;
  std::map<std::string, std::string> texts_;
};

/// PUT, GET and DELETE of /notes/NAME.
inline void add_notes(httplib::Server& server, Notes& notes) {
  const char* const path = R"(/notes/(\w+))";
  server.Put(path, [&](const httplib::Request& request, httplib::Response& response) {
    notes.keep(request.matches[1], request.body);
    response.status = 204;
  });
  server.Get(path, [&](const httplib::Request& request, httplib::Response& response) {
    const std::optional<std::string> text = notes.find(request.matches[1]);
    if (text) response.set_content(*text, "text/plain");
    response.status = text ? 200 : 404;
  });
  server.Delete(path, [&](const httplib::Request& request, httplib::Response& response) {
    response.status = notes.forget(request.matches[1]) ? 204 : 404;
  });
}
