# alloctap::compiled: the bodies of the impl/ folders, compiled once. A program that links it compiles
# less of the library again; all else is as with alloctap::alloctap.
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp")
# Of these the names say that they are for ELF.
if(WIN32)
  list(FILTER sources EXCLUDE REGEX "/linux[a-z_]*\\.cpp$")
endif()
# What needs a library is left out where that is not there.
set(needs_absl absl_symbolizer)
set(needs_libdw libdw_symbolizer)
set(needs_pprof_libraries pprof_dump)
set(needs_rapidjson json_dump html_dump dhat_dump chrome_trace_dump matrix_dump)
set(libraries)
foreach(library IN ITEMS absl libdw pprof_libraries rapidjson)
  if(TARGET alloctap::${library})
    list(APPEND libraries alloctap::${library})
  else()
    foreach(name IN LISTS needs_${library})
      list(FILTER sources EXCLUDE REGEX "/${name}\\.cpp$")
    endforeach()
  endif()
endforeach()

add_library(alloctap_compiled STATIC ${sources})
add_library(alloctap::compiled ALIAS alloctap_compiled)
set_target_properties(alloctap_compiled PROPERTIES OUTPUT_NAME alloctap EXPORT_NAME compiled
                                                   POSITION_INDEPENDENT_CODE ON)
target_compile_definitions(alloctap_compiled PUBLIC ALLOCTAP_COMPILED)
# A linker that is asked to (--gc-sections) leaves out functions that a program does not call.
target_compile_options(alloctap_compiled PRIVATE -ffunction-sections -fdata-sections)
if(NOT WIN32)
  # Inline functions are not replaced by those of another module, either.
  target_compile_options(alloctap_compiled PRIVATE -fno-semantic-interposition)
endif()
if(NOT ALLOCTAP_INSTALL_COMPILED)
  set_target_properties(alloctap_compiled PROPERTIES EXCLUDE_FROM_ALL ON)
endif()

# A shared object keeps it for itself.
set(is_shared "$<IN_LIST:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY;MODULE_LIBRARY>")
target_link_options(
  alloctap_compiled
  INTERFACE "$<$<AND:$<PLATFORM_ID:Linux,Android>,${is_shared}>:LINKER:--exclude-libs,liballoctap.a>")

# Behind the archive stand the libraries that single objects of it need. Programs that do not use
# these are not linked with them.
target_link_libraries(alloctap_compiled PUBLIC alloctap)
foreach(library IN LISTS libraries)
  target_include_directories(alloctap_compiled SYSTEM
                             PRIVATE "$<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>")
endforeach()
alloctap_libraries_as_needed(linked_as_needed)
target_link_libraries(alloctap_compiled INTERFACE "$<BUILD_INTERFACE:${linked_as_needed}>")
