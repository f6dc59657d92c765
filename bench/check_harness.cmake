# The measuring scripts cannot rot unseen.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_program(ALLOCTAP_HEAPTRACK NAMES heaptrack)

file(GLOB scripts CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.py")
add_test(NAME bench.scripts_compile
         COMMAND Python3::Interpreter -X "pycache_prefix=${CMAKE_CURRENT_BINARY_DIR}" -m py_compile
                 ${scripts})
set_tests_properties(bench.scripts_compile PROPERTIES LABELS "bench;native_only")

# alloctap_check_script(NAME ARGUMENTS...): runs NAME.py on very little, and looks at its numbers.
function(alloctap_check_script name)
  add_test(NAME bench.${name}
           COMMAND Python3::Interpreter -X "pycache_prefix=${CMAKE_CURRENT_BINARY_DIR}"
                   "${CMAKE_CURRENT_SOURCE_DIR}/check_harness.py" ${name} ${ARGN})
  set_tests_properties(bench.${name} PROPERTIES LABELS "bench;native_only" TIMEOUT 120)
endfunction()

alloctap_check_script(capture_cost "${PROJECT_BINARY_DIR}")
alloctap_check_script(compile_time --compiler "${CMAKE_CXX_COMPILER}")
alloctap_check_script(sampling_cost "${PROJECT_BINARY_DIR}")
if(ALLOCTAP_HEAPTRACK)
  alloctap_check_script(dump_time "${PROJECT_BINARY_DIR}")
  alloctap_check_script(pair_cost "${PROJECT_BINARY_DIR}")
  alloctap_check_script(stack_memory "${PROJECT_BINARY_DIR}")
  alloctap_check_script(whole_program "${PROJECT_BINARY_DIR}")
endif()
