/* The parts of the program. */
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In a program with a tracker of its own, these start it and print what it knows; else nothing. */
void start_tracker(void);
void report(void);

/* Of a library in C++11. Allocates 200 bytes by `keep`, in a tag. */
void library_work(void (*keep)(size_t));

#ifdef __cplusplus
}
#endif
