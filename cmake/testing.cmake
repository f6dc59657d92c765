# The functions that tests/ is made of.

set(ALLOCTAP_COMPONENTS alloctap::alloctap alloctap::interpose_hook)
foreach(component IN ITEMS alloctap::absl_symbolizer alloctap::json_dump alloctap::html_dump alloctap::libdw_symbolizer
                           alloctap::pprof_dump)
  if(TARGET ${component})
    list(APPEND ALLOCTAP_COMPONENTS ${component})
  endif()
endforeach()

# alloctap_read_left_out(FILE VARIABLE)
# The names in FILE, a list of what is left out and why.
function(alloctap_read_left_out file variable)
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(STRINGS "${file}" names REGEX "^  ")
  list(TRANSFORM names STRIP)
  set(${variable} "${names}" PARENT_SCOPE)
endfunction()

# alloctap_select_cases(VARIABLE OPTION NAMES...)
# OPTION, --test-case or --test-case-exclude, with the names of cases; nothing where there are none.
function(alloctap_select_cases variable option)
  # A comma would end a name.
  list(TRANSFORM ARGN REPLACE "," "?" OUTPUT_VARIABLE names)
  list(JOIN names "," names)
  if(names)
    set(names "${option}=${names}")
  endif()
  set(${variable} ${names} PARENT_SCOPE)
endfunction()

# alloctap_leave_out_sources_without_threads(VARIABLE)
# Under ThreadSanitizer: takes the sources that start no thread out of the list VARIABLE.
function(alloctap_leave_out_sources_without_threads variable)
  if(NOT ALLOCTAP_SANITIZE STREQUAL "thread")
    return()
  endif()
  set(sources)
  foreach(source IN LISTS ${variable})
    file(STRINGS "${source}" threads REGEX "std::thread|busy_threads|pthread_create|WorkerThread" LIMIT_COUNT 1)
    if(threads)
      list(APPEND sources "${source}")
    endif()
  endforeach()
  set(${variable} "${sources}" PARENT_SCOPE)
endfunction()

# alloctap_combine_sources(NAME REGEX FROM INTO)
# Takes what REGEX matches out of the list FROM, writes one source that includes all of it, and appends
# that to the list INTO. Each test is in a namespace of its own, so that names do not clash. All headers
# are included before: inside the namespaces their include guards make them empty.
function(alloctap_combine_sources name regex from into)
  set(parts "${${from}}")
  set(rest "${${from}}")
  list(FILTER parts INCLUDE REGEX "${regex}")
  list(FILTER rest EXCLUDE REGEX "${regex}")
  set(${from} "${rest}" PARENT_SCOPE)
  if(parts)
    set(output "${CMAKE_CURRENT_BINARY_DIR}/combined/${name}.cpp")
    alloctap_write_combined_source("${output}" ${parts})
    set(${into} "${${into}}" "${output}" PARENT_SCOPE)
  endif()
endfunction()

# alloctap_write_combined_source(OUTPUT SOURCES...)
function(alloctap_write_combined_source output)
  set(headers)
  set(tests)
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" includes REGEX "^#include [<\"]")
    list(TRANSFORM includes REPLACE "^(#include [<\"][^>\"]*[>\"]).*" "\\1")
    list(APPEND headers ${includes})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE path)
    string(MAKE_C_IDENTIFIER "${path}" name)
    string(APPEND tests "namespace ${name} {\n#include \"${path}\"\n}\n")
  endforeach()
  list(REMOVE_DUPLICATES headers)
  list(JOIN headers "\n" headers)
  file(CONFIGURE OUTPUT "${output}" CONTENT "${headers}\n${tests}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
endfunction()

# How unit tests are run, how long they may take, and what is left out.
set(ALLOCTAP_TEST_ARGUMENTS)
# More than ten times what the longest ones take on two idle cores.
set(ALLOCTAP_TEST_SECONDS 600)
if(CMAKE_CROSSCOMPILING OR ALLOCTAP_SANITIZE)
  set(ALLOCTAP_TEST_SECONDS 1500)
endif()
set(ALLOCTAP_LEFT_OUT)
if(CMAKE_CROSSCOMPILING AND NOT ALLOCTAP_EMULATOR)
  set(ALLOCTAP_EMULATOR qemu)
endif()
set(runs_under "${ALLOCTAP_EMULATOR}")
if(ALLOCTAP_SANITIZE STREQUAL "thread")
  set(runs_under tsan)
endif()
if(runs_under)
  set(left_out "${PROJECT_SOURCE_DIR}/tests/left_out_under_${runs_under}.txt")
  alloctap_read_left_out("${left_out}" ALLOCTAP_LEFT_OUT)
  # Whole sources, which do not compile there.
  set(ALLOCTAP_LEFT_OUT_SOURCES "${ALLOCTAP_LEFT_OUT}")
  list(FILTER ALLOCTAP_LEFT_OUT_SOURCES INCLUDE REGEX "_test\\.cpp$")
  list(FILTER ALLOCTAP_LEFT_OUT EXCLUDE REGEX "_test\\.cpp$")
  alloctap_select_cases(ALLOCTAP_TEST_ARGUMENTS --test-case-exclude ${ALLOCTAP_LEFT_OUT})
endif()
if(CMAKE_CROSSCOMPILING)
  execute_process(COMMAND ${ALLOCTAP_EXECUTE_PROGRAMS} true RESULT_VARIABLE cannot_execute
                  OUTPUT_QUIET ERROR_VARIABLE why)
  if(cannot_execute)
    message(WARNING "Tests that execute programs are disabled: ${why}")
  endif()
endif()

# alloctap_add_executing_test(NAME PROGRAM ARGUMENTS...)
# PROGRAM, a target, executes other programs, those that are built here and the machine's own.
function(alloctap_add_executing_test name program)
  if(CMAKE_CROSSCOMPILING)
    add_test(NAME ${name} COMMAND ${ALLOCTAP_EXECUTE_PROGRAMS} "$<TARGET_FILE:${program}>" ${ARGN}
                                  ${ALLOCTAP_TEST_ARGUMENTS})
    if(cannot_execute OR name IN_LIST ALLOCTAP_LEFT_OUT)
      set_tests_properties(${name} PROPERTIES DISABLED ON)
    endif()
  else()
    add_test(NAME ${name} COMMAND ${program} ${ARGN})
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ALLOCTAP_TEST_SECONDS})
endfunction()

# alloctap_add_precompiled_headers(NAME HEADER [LIBS libraries...] [OPTIONS compiler options...])
# Compiles what HEADER, of tests/, includes once for all tests that are compiled with OPTIONS.
function(alloctap_add_precompiled_headers name header)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LIBS;OPTIONS")
  # A target that compiles nothing cannot own one.
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(${name} PRIVATE doctest::doctest alloctap_warnings ${ALLOCTAP_COMPONENTS}
                                        ${arg_LIBS})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_precompile_headers(${name} PRIVATE <tests/${header}>)
endfunction()

# alloctap_add_unit_test(NAME SOURCES... [LIBS libraries...] [LABELS labels...] [HEADERS target]
#                        [MAIN target] [ARGUMENTS arguments...])
# One doctest program, registered with ctest. HEADERS: whose precompiled headers it uses (default:
# alloctap_test_headers); NONE for a program whose options allow none. MAIN: alloctap_doctest_main by
# default, or ${ALLOCTAP_TRACKED_MAIN}.
function(alloctap_add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADERS;MAIN" "LIBS;LABELS;ARGUMENTS")
  alloctap_add_test_program(${name} ${ARGN})
  add_test(NAME ${name} COMMAND ${name} ${ALLOCTAP_TEST_ARGUMENTS} ${arg_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${ALLOCTAP_TEST_SECONDS})
endfunction()

# alloctap_add_test_program(NAME SOURCES... [LIBS libraries...] [LABELS labels...] [HEADERS target]
#                           [MAIN target])
# The same, not registered.
function(alloctap_add_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADERS;MAIN" "LIBS;LABELS;ARGUMENTS")
  if(NOT arg_MAIN)
    set(arg_MAIN alloctap_doctest_main)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${arg_MAIN} alloctap_warnings ${ALLOCTAP_COMPONENTS}
                                        ${arg_LIBS})
  alloctap_note_test_program(${name} ${arg_MAIN})
  if(NOT arg_HEADERS)
    set(arg_HEADERS alloctap_test_headers)
  endif()
  if(NOT arg_HEADERS STREQUAL "NONE")
    target_precompile_headers(${name} REUSE_FROM ${arg_HEADERS})
  endif()
endfunction()

# alloctap_note_test_program(NAME MAIN)
# Programs whose tests run without a tracker: tracked/ has a second one of each, or the list of what
# is left out has it.
function(alloctap_note_test_program name main)
  if(main STREQUAL "alloctap_doctest_main")
    set_property(GLOBAL APPEND PROPERTY alloctap_untracked_programs ${name})
  endif()
endfunction()

# alloctap_add_driver_test(NAME SOURCES... [LIBS libraries...] [LABELS labels...])
# The same for tests that run other programs and read what these write.
function(alloctap_add_driver_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBS;LABELS")
  alloctap_add_test_program(${name} ${ARGN} HEADERS alloctap_driver_headers
                            MAIN ${ALLOCTAP_TRACKED_MAIN})
  alloctap_as_driver(${name})
  alloctap_add_executing_test(${name} ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
endfunction()

# alloctap_add_driver_tests(SUITE SOURCES...)
# One such program of a whole folder, alloctap_SUITE_tests. Several sources are compiled as one,
# because most of each is the same; ctest knows each NAME_test.cpp as alloctap_SUITE_NAME_tests.
function(alloctap_add_driver_tests suite)
  set(program alloctap_${suite}_tests)
  add_executable(${program} ${ARGN})
  target_link_libraries(${program} PRIVATE ${ALLOCTAP_TRACKED_MAIN} alloctap_warnings
                                           ${ALLOCTAP_COMPONENTS})
  target_precompile_headers(${program} REUSE_FROM alloctap_driver_headers)
  set_target_properties(${program} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  alloctap_as_driver(${program})
  foreach(source IN LISTS ARGN)
    string(REPLACE "_test.cpp" "" name "${source}")
    set(test alloctap_${suite}_${name}_tests)
    alloctap_add_executing_test(${test} ${program} "--source-file=*/${source}")
    set_tests_properties(${test} PROPERTIES LABELS "integration;native_only")
  endforeach()
endfunction()

function(alloctap_as_driver program)
  target_link_libraries(${program} PRIVATE nlohmann_json::nlohmann_json)
endfunction()

# CMake knows one file extension of precompiled headers for all languages, and the C compiler may be
# of another make.
macro(alloctap_enable_c)
  set(pch_extension "${CMAKE_PCH_EXTENSION}")
  enable_language(C)
  set(CMAKE_PCH_EXTENSION "${pch_extension}")
endmacro()

# Where tests that call the compiler themselves find headers.
set(ALLOCTAP_INCLUDES "$<TARGET_PROPERTY:alloctap_umbrella_headers,INCLUDE_DIRECTORIES>")

# alloctap_add_compile_fail_header(HEADER)
# HEADER is compiled before the tests that are added after this, and included by each of them.
function(alloctap_add_compile_fail_header header)
  set(suffix gch)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(suffix pch)
  endif()
  add_test(NAME compile_fail.header
           COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 "-I$<JOIN:${ALLOCTAP_INCLUDES},;-I>"
                   -x c++-header "${header}" -o "${header}.${suffix}"
           COMMAND_EXPAND_LISTS)
  set_tests_properties(compile_fail.header
                       PROPERTIES LABELS "compile_fail;native_only"
                                  FIXTURES_SETUP alloctap_compile_fail_header)
endfunction()

# alloctap_add_compile_fail_test(FILE)
# FILE compiles; with -DALLOCTAP_COMPILE_FAIL it does not, and the compiler says every text that
# stands in FILE as a comment "// EXPECT: text".
function(alloctap_add_compile_fail_test file)
  cmake_path(ABSOLUTE_PATH file)
  cmake_path(GET file STEM name)
  add_test(
    NAME compile_fail.${name}
    COMMAND sh "${PROJECT_SOURCE_DIR}/tests/compile_fail/check.sh" "${file}"
            "${CMAKE_CXX_COMPILER}" -std=c++20 -fsyntax-only
            "-I$<JOIN:${ALLOCTAP_INCLUDES},;-I>" -include "${ALLOCTAP_COMPILE_FAIL_HEADER}"
    COMMAND_EXPAND_LISTS)
  set_tests_properties(compile_fail.${name}
                       PROPERTIES LABELS "compile_fail;native_only"
                                  FIXTURES_REQUIRED alloctap_compile_fail_header)
endfunction()

# alloctap_add_symbol_test(TARGET [NAME name] [DYNAMIC] [SOURCE file]
#                          [PRESENT regex...] [ABSENT regex...] [ONLY regex...])
# Looks at the demangled symbols that TARGET defines or refers to (DYNAMIC: exports): some symbol
# matches each PRESENT, none matches an ABSENT, and each symbol matches some ONLY. The regexes are those of
# grep -E. SOURCE: a file whose comments "// PRESENT: regex" and "// ABSENT: regex" count too.
function(alloctap_add_symbol_test target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "DYNAMIC" "NAME;SOURCE" "PRESENT;ABSENT;ONLY")
  if(NOT arg_NAME)
    set(arg_NAME ${target})
  endif()
  set(options)
  if(arg_DYNAMIC)
    list(APPEND options --dynamic)
  endif()
  if(arg_SOURCE)
    list(APPEND options --source "${arg_SOURCE}")
  endif()
  foreach(kind IN ITEMS PRESENT ABSENT ONLY)
    string(TOLOWER ${kind} option)
    foreach(regex IN LISTS arg_${kind})
      list(APPEND options --${option} "${regex}")
    endforeach()
  endforeach()
  add_test(NAME symbols.${arg_NAME} COMMAND sh "${PROJECT_SOURCE_DIR}/tests/nm/check_symbols.sh"
                                            "$<TARGET_FILE:${target}>" ${options})
  set_tests_properties(symbols.${arg_NAME} PROPERTIES LABELS "nm;native_only")
endfunction()
