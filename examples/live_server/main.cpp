// A server whose memory can be looked at while it runs. See README.md.
#include <httplib.h>

#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/symbol/libdw_symbolizer.hpp>
#include <charconv>
#include <csignal>
#include <iostream>
#include <optional>
#include <string_view>

#include "debug_pages.hpp"
#include "notes.hpp"

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Symbolizer = alloctap::LibdwSymbolizer;
};
using Tracker = alloctap::Tracker<Config>;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

namespace {

constexpr char kHost[] = "127.0.0.1";

httplib::Server* running_server = nullptr;

void stop_server(int) {
  if (running_server != nullptr) running_server->stop();
}

/// The port that the command line asks for, 8080 unless told otherwise, 0 for any that is free;
/// nothing where it is none.
std::optional<int> asked_port(int count, char** arguments) {
  if (count == 1) return 8080;
  const std::string_view text = arguments[1];
  int port = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool is_port = error == std::errc{} && end == text.data() + text.size();
  if (count > 2 || !is_port || port < 0 || port > 65535) return std::nullopt;
  return port;
}

/// The library's own choice is SO_REUSEPORT: a second server would share the port with the first.
void take_port_alone(socket_t socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

/// The port, or -1 where another program has it.
int bind(httplib::Server& server, int port) {
  server.set_socket_options(&take_port_alone);
  if (port == 0) return server.bind_to_any_port(kHost);
  return server.bind_to_port(kHost, port) ? port : -1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::optional<int> asked = asked_port(count, arguments);
  if (!asked) {
    std::cerr << "usage: live_server [PORT]\n";
    return 2;
  }
  const auto session = Tracker::start();
  if (!session.ok()) {
    std::cerr << "live_server: " << session.status() << '\n';
    return 1;
  }
  Notes notes;
  httplib::Server server;
  add_notes(server, notes);
  add_debug_pages<Tracker>(server);
  const int port = bind(server, *asked);
  if (port < 0) {
    std::cerr << "live_server: cannot listen on port " << *asked << "; try another one\n";
    return 1;
  }
  running_server = &server;
  std::signal(SIGINT, &stop_server);
  std::signal(SIGTERM, &stop_server);
  std::cout << "http://" << kHost << ':' << port << "/heap.html\n" << std::flush;
  return server.listen_after_bind() ? 0 : 1;
}
