// A library with known functions at known places. PLUGIN_BUILD: what its functions are named after.

namespace PLUGIN_BUILD {

using Callback = void (*)();

[[gnu::noinline]] const void* here() { return __builtin_return_address(0); }

[[gnu::always_inline]] inline const void* innermost() {
  const void* place = here();  // MARK innermost
  __asm__ volatile("" ::: "memory");
  return place;
}

namespace {

struct Middle {
  [[gnu::always_inline]] static const void* call(int) {
    return innermost();  // MARK middle
  }
};

/// Has no symbol that the loader needs.
[[gnu::noinline]] const void* outer() {
  return Middle::call(1);  // MARK outer
}

/// Not the only frame that is the plugin's, and none that the compiler leaves out.
[[gnu::noinline]] void call_back(Callback callback) {
  callback();  // MARK call_back
  __asm__ volatile("" ::: "memory");
}

}  // namespace

/// Exported, under a name that tells the build.
[[gnu::noinline]] const void* exported() {
  const void* place = here();  // MARK exported
  // Or the compiler makes one function of this and `outer`.
  __asm__ volatile("nop" ::: "memory");
  return place;
}

}  // namespace PLUGIN_BUILD

extern "C" const void* plugin_place() { return PLUGIN_BUILD::outer(); }
extern "C" const void* plugin_exported_place() { return PLUGIN_BUILD::exported(); }
extern "C" void plugin_call(PLUGIN_BUILD::Callback callback) { PLUGIN_BUILD::call_back(callback); }
