/* What a program in C says of itself, and what a library and a plug-in that it uses do. */
#include <alloctap/annotate.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

#ifdef PLUGIN
#include <dlfcn.h>
#endif

/* Volatile: or a compiler leaves out what nobody reads. */
void* volatile kept[100];
static unsigned kept_count;

void keep(size_t bytes) {
  if (kept_count < sizeof kept / sizeof *kept) kept[kept_count++] = malloc(bytes);
}

static void count_offence(const struct alloctap_offence* offence) {
  static const char text[] = "told of an offence\n";
  if (offence->bytes == 48) fwrite(text, 1, sizeof text - 1, stdout);
}

static void draw(int frame) {
  struct alloctap_scope drawing;
  struct alloctap_scope exception;
  struct alloctap_scope_options options = {0};
  options.on_offence = &count_offence;
  alloctap_no_allocation_begin(&drawing, "draw", &options);
  if (frame == 2) keep(48);
  alloctap_allowed_begin(&exception);
  keep(1);
  alloctap_allowed_end(&exception);
  if (alloctap_no_allocation_end(&drawing)) puts("draw allocated");
}

static void use_plugin(void) {
#ifdef PLUGIN
  /* What the loader allocates has no tag. */
  const alloctap_tag game = alloctap_tag_enter(0);
  void* const plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
  void (*work)(void (*)(size_t)) = 0;
  if (plugin) *(void**)&work = dlsym(plugin, "plugin_work");
  alloctap_tag_end(game);
  if (work) {
    work(&keep);
  } else {
    puts("no plugin");
  }
#endif
}

static void keep_what_stays(void) {
  const alloctap_tag before = alloctap_tag_begin(ALLOCTAP_EXPECTED_TO_STAY);
  keep(64);
  alloctap_tag_end(before);
}

int main(int count, char** arguments) {
  static char fiber_stack[16384];
  void* fiber;
  int frame;
  alloctap_tag game;
  setvbuf(stdout, 0, _IONBF, 0);
  (void)arguments;
  start_tracker();
  if (count > 1) keep_what_stays();
  game = alloctap_tag_begin("Game");
  alloctap_mark("level 1");
  fiber = alloctap_fiber_add(fiber_stack, sizeof fiber_stack);
  for (frame = 0; frame <= 4; ++frame) {
    const alloctap_tag before = alloctap_tag_begin("Physics");
    keep(1000);
    alloctap_tag_end(before);
    draw(frame);
    alloctap_frame_mark();
  }
  library_work(&keep);
  use_plugin();
  alloctap_pause();
  keep(77777);
  alloctap_resume();
  alloctap_fiber_remove(fiber);
  alloctap_tag_end(game);
  /* Unbalanced: nothing comes of it. */
  alloctap_resume();
  alloctap_tag_end(54321);
  keep(3);
  report();
  puts("done");
  return 0;
}
