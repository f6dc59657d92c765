// Nothing: a shared object that can be preloaded.
