// The same of a plug-in, in its constructor, too.
#include <alloctap/annotate.hpp>

extern "C" void plugin_work(void (*keep)(size_t)) {
  const alloctap::tag_scope tag{"Plugin"};
  keep(300);
}
