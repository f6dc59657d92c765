/// The ownership matrix (blocks by allocating and freeing thread) in schema alloctap.heap/1.
#pragma once

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/snapshot/ownership_matrix.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Writes the matrix as an array, or null if it was not requested or is unknown.
inline void write_ownership(JsonBuilder& json, const Snapshot& snapshot, DumpWriter& out) {
  if (!tells_ownership(snapshot)) return json.null();
  const Result<OwnershipMatrix> matrix = ownership_matrix(snapshot);
  if (!matrix.ok()) {
    json.null();
    return out.fail("json: the system has no memory for who gave back what");
  }
  json.begin_array();
  for (const OwnershipRow& row : matrix->threads) {
    json.begin_object();
    json.key("allocating_thread");
    json.value_unless(row.allocating, OwnershipRow::kNotKnown);
    json.number("freeing_thread", row.freeing);
    json.number("blocks", row.blocks);
    json.number("bytes", row.bytes);
    json.end_object();
  }
  json.end_array();
}

}  // namespace alloctap
