# What the consumers have in common, once alloctap's targets are there.
set(CMAKE_CXX_EXTENSIONS OFF)

if(TARGET alloctap_warnings OR TARGET alloctap_unit_tests)
  message(FATAL_ERROR "alloctap's own tests and warnings reach its consumer")
endif()

enable_language(C)
add_library(annotated STATIC "${CMAKE_CURRENT_LIST_DIR}/annotated.c")
target_link_libraries(annotated PRIVATE alloctap::annotate)

add_executable(consumer "${CMAKE_CURRENT_LIST_DIR}/main.cpp")
target_link_libraries(consumer PRIVATE alloctap::alloctap alloctap::interpose_hook
                                       alloctap::absl_symbolizer alloctap::json_dump
                                       alloctap::html_dump alloctap::inline_hook
                                       alloctap::pprof_dump annotated)
if(LINKS_COMPILED)
  target_link_libraries(consumer PRIVATE alloctap::compiled)
endif()
target_compile_definitions(consumer PRIVATE EXPECTED_VERSION="${EXPECTED_VERSION}")
