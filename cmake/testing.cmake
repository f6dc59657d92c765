# The functions that tests/ is made of.

set(ALLOCTAP_COMPONENTS alloctap::alloctap alloctap::interpose_hook alloctap::absl_symbolizer)
foreach(component IN ITEMS alloctap::json_dump alloctap::libdw_symbolizer)
  if(TARGET ${component})
    list(APPEND ALLOCTAP_COMPONENTS ${component})
  endif()
endforeach()

# alloctap_add_unit_test(NAME SOURCES... [LIBS libraries...] [LABELS labels...])
# One doctest program, registered with ctest.
function(alloctap_add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBS;LABELS")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE alloctap_doctest_main alloctap_warnings
                                        ${ALLOCTAP_COMPONENTS} ${arg_LIBS})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300)
endfunction()

# alloctap_add_compile_fail_test(FILE)
# FILE compiles; with -DALLOCTAP_COMPILE_FAIL it does not, and the compiler says every text that
# stands in FILE as a comment "// EXPECT: text".
function(alloctap_add_compile_fail_test file)
  cmake_path(ABSOLUTE_PATH file)
  cmake_path(GET file STEM name)
  set(includes "$<TARGET_PROPERTY:alloctap_self_contained,INCLUDE_DIRECTORIES>")
  add_test(
    NAME compile_fail.${name}
    COMMAND sh "${PROJECT_SOURCE_DIR}/tests/compile_fail/check.sh" "${file}" "${CMAKE_CXX_COMPILER}"
            -std=c++20 -fsyntax-only "-I$<JOIN:${includes},;-I>"
    COMMAND_EXPAND_LISTS)
  set_tests_properties(compile_fail.${name} PROPERTIES LABELS "compile_fail;native_only")
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
