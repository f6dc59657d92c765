/// A report for people: one page that shows everything, in any browser, without a network.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/html_dump.hpp"
#endif
