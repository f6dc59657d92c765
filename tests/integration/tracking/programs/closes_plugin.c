// usage: closes_plugin PLUGIN
// Allocates, opens and closes the plug-in. Exit code: 0, or 1 where that fails.
#include <dlfcn.h>
#include <stdlib.h>

void *volatile block;

int main(int argc, char **argv) {
  block = malloc(10);
  void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  return plugin != NULL && dlclose(plugin) == 0 ? 0 : 1;
}
