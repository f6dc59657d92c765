// The memory of a program as pages of its HTTP server.
#pragma once

#include <httplib.h>

#include <alloctap/dump/html_dump.hpp>
#include <alloctap/dump/impl/outputs.hpp>
#include <alloctap/dump/json_dump.hpp>
#include <alloctap/dump/pprof_dump.hpp>
#include <string>

#include "alloctap/status.hpp"

/// Answers with a report of this moment, whole; with 503 and the reason where there is none.
template <class Tracker, class Policy>
void add_page(httplib::Server& server, const char* path, const char* type) {
  server.Get(path, [type](const httplib::Request&, httplib::Response& response) {
    alloctap::MemoryOutput page;
    const alloctap::Status status = Tracker::dump(Policy{}, page);
    if (status.ok()) {
      response.set_content(page.text().data(), page.text().size(), type);
    } else {
      response.status = 503;
      response.set_content(std::string(status.message()) + '\n', "text/plain");
    }
  });
}

/// Reports show the program's insides: let nobody but those who run it see them.
template <class Tracker>
void add_debug_pages(httplib::Server& server) {
  add_page<Tracker, alloctap::PprofDump>(server, "/debug/pprof/heap", "application/octet-stream");
  add_page<Tracker, alloctap::HtmlDump>(server, "/heap.html", "text/html");
  add_page<Tracker, alloctap::JsonDump>(server, "/heap.json", "application/json");
}
