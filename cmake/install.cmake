# Several export sets, because the libraries of some parts need not be there where alloctap is installed.
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/alloctap")

install(TARGETS alloctap alloctap_interpose_hook alloctap_malloc_hooks alloctap_plt_hook alloctap_absl_symbolizer
        EXPORT alloctap-targets
        FILE_SET HEADERS)
install(EXPORT alloctap-targets NAMESPACE alloctap:: DESTINATION "${package_dir}")
foreach(component IN ITEMS json_dump html_dump inline_hook libdw_symbolizer pprof_dump)
  if(TARGET alloctap_${component})
    install(TARGETS alloctap_${component} EXPORT alloctap-${component}-targets)
    install(EXPORT alloctap-${component}-targets NAMESPACE alloctap:: DESTINATION "${package_dir}")
  endif()
endforeach()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/alloctap-config.cmake.in"
                              "${CMAKE_CURRENT_BINARY_DIR}/alloctap-config.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/alloctap-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/alloctap-config.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/alloctap-config-version.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/decoder.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/libdw.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/pprof.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/rapidjson.cmake"
        DESTINATION "${package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
