# The measuring scripts cannot rot unseen.
# Who builds on Windows itself may not have it.
set(python_required REQUIRED)
if(WIN32 AND NOT CMAKE_CROSSCOMPILING)
  set(python_required)
endif()
find_package(Python3 ${python_required} COMPONENTS Interpreter)
if(NOT Python3_FOUND)
  message(STATUS "alloctap: no Python, so no tests of the measuring scripts")
  return()
endif()

# By its path: the target would be run by the emulator, which is for what is built here, and Wine
# takes each end of such a program for a good one.
file(GLOB scripts CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.py")
add_test(NAME bench.scripts_compile
         COMMAND "${Python3_EXECUTABLE}" -X "pycache_prefix=${CMAKE_CURRENT_BINARY_DIR}" -m py_compile
                 ${scripts})
set_tests_properties(bench.scripts_compile PROPERTIES LABELS "bench;native_only")

# alloctap_check_script(NAME ARGUMENTS...): runs NAME.py on very little, and looks at its numbers;
# NAME is a key of CHECKS in check_harness.py.
function(alloctap_check_script name)
  add_test(NAME bench.${name}
           COMMAND "${Python3_EXECUTABLE}" -X "pycache_prefix=${CMAKE_CURRENT_BINARY_DIR}"
                   "${CMAKE_CURRENT_SOURCE_DIR}/check_harness.py" ${name} ${ARGN})
  set_tests_properties(bench.${name} PROPERTIES LABELS "bench;native_only" TIMEOUT 120)
endfunction()

if(WIN32)
  alloctap_check_script(windows_capture_cost "${PROJECT_BINARY_DIR}")
  return()
endif()
# Those that run benchmarks, or a compiler, where benchmarks are built.
if(ALLOCTAP_BUILD_BENCHMARKS)
  alloctap_check_script(capture_cost "${PROJECT_BINARY_DIR}")
  alloctap_check_script(compile_time --compiler "${CMAKE_CXX_COMPILER}")
endif()
# Those that run alloctap-run, where all tests are built.
if(NOT ALLOCTAP_BUILD_TESTS OR NOT ALLOCTAP_TESTS STREQUAL "all")
  return()
endif()
find_program(ALLOCTAP_HEAPTRACK NAMES heaptrack)
alloctap_check_script(check_cost "${PROJECT_BINARY_DIR}")
alloctap_check_script(sampling_cost "${PROJECT_BINARY_DIR}")
if(ALLOCTAP_HEAPTRACK)
  alloctap_check_script(dump_time "${PROJECT_BINARY_DIR}")
  alloctap_check_script(pair_cost "${PROJECT_BINARY_DIR}")
  alloctap_check_script(stack_memory "${PROJECT_BINARY_DIR}")
  alloctap_check_script(whole_program "${PROJECT_BINARY_DIR}")
endif()
