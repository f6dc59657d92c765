# Used by the build and, once installed, by alloctap-config.cmake: Abseil names functions for
# AbslSymbolizer, and nothing else of alloctap needs it.
set(alloctap_library_of_absl "Abseil (Debian: libabsl-dev)")
# A macro, so that the targets of Abseil's package are there for whoever calls it.
macro(alloctap_find_absl)
  if(NOT TARGET alloctap::absl)
    find_package(absl QUIET)
    if(TARGET absl::symbolize)
      add_library(alloctap::absl INTERFACE IMPORTED)
      target_link_libraries(alloctap::absl INTERFACE absl::symbolize)
    endif()
  endif()
endmacro()
