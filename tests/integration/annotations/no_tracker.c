/* A program without a tracker. */
#include "work.h"

void start_tracker(void) {}
void report(void) {}
