// The body of HtmlDump: linked by programs that write one.
#include "alloctap/dump/impl/html_dump.hpp"
