# Compiles through ccache where it works, so that a checkout in any folder reuses what another one
# compiled. -DALLOCTAP_CCACHE= builds without it.
find_program(ALLOCTAP_CCACHE ccache)
if(NOT ALLOCTAP_CCACHE)
  message(STATUS "alloctap: no ccache: every file is compiled")
  return()
endif()

# Paths below the project are hashed relative to it. What a file includes is read from the compiler's
# list, so nothing is preprocessed twice. A precompiled header may define macros, and the time that
# __TIME__ gives in it does not count.
set(launcher
    "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_DEPEND=1
    CCACHE_SLOPPINESS=pch_defines,time_macros
    "${ALLOCTAP_CCACHE}")

# The same file twice: the second time it must come from the cache. It does not where the cache's
# folder cannot be written, or its disk is full.
set(probe "${CMAKE_BINARY_DIR}/CMakeFiles/compiler_cache")
file(WRITE "${probe}.cpp" "int probed;\n")
file(REMOVE "${probe}.log")
set(cache_error "nothing can be stored in its folder")
foreach(attempt IN ITEMS first second)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env "CCACHE_STATSLOG=${probe}.log" ${launcher}
            "${CMAKE_CXX_COMPILER}" -MD -c "${probe}.cpp" -o "${probe}.o"
    ERROR_VARIABLE message RESULT_VARIABLE failed OUTPUT_QUIET)
  if(failed)
    string(STRIP "${message}" cache_error)
  endif()
endforeach()
set(hits)
if(EXISTS "${probe}.log")
  file(STRINGS "${probe}.log" hits REGEX "_hit$")
endif()
if(NOT hits)
  message(STATUS "alloctap: every file is compiled, because ccache does not work here: ${cache_error}")
  return()
endif()

foreach(language IN ITEMS C CXX)
  if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${launcher})
  endif()
endforeach()
# Objects name the project's folder in debug information, precompiled headers of clang their own age.
add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>")
else()
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
