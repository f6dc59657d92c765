/// The namespace of one kind of tracker.
#pragma once

/// What differs between the trackers of one library has the same names in each, in a namespace
/// that the build names. A library with one tracker needs no name.
#ifndef ALLOCTAP_RUN_KIND
#define ALLOCTAP_RUN_KIND only_kind
#endif
