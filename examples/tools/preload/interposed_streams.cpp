// fclose, by which GNU's tools close standard output and error when they exit, before the report is
// written.
#include <stdio.h>

#include <alloctap/macros.hpp>

#include "final_report.hpp"
#include "signal_functions.hpp"
#include "standard_error.hpp"

/// Ends in a jump (this file is optimized in every build), so that no frame of it is in the stack
/// of the call that frees the stream.
extern "C" ALLOCTAP_EXPORT int fclose(FILE* stream) {
  using namespace alloctap::run;
  using Signature = int(FILE*);
  static constinit Signature* real = nullptr;
  if (stream == stderr && report_owed()) keep_standard_error();
  if (stream == stdout && report_owed()) keep_standard_output();
  return next_function(real, "fclose")(stream);
}
