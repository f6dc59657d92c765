# For our own tests, examples and benchmarks; a project that uses alloctap never sees these.
add_library(alloctap_warnings INTERFACE)
target_compile_options(alloctap_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion
                                                   -Wshadow -Werror)
