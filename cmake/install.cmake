# Components are named like the Debian packages that they become: alloctap-tools, the commands, and
# liballoctap-dev, which all here is. Headers do not depend on the processor, so all lies in share/.
# Several export sets, because the libraries of some parts need not be there where alloctap is installed.
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/alloctap")
set(pkg_config_dir "${CMAKE_INSTALL_DATADIR}/pkgconfig")

install(TARGETS alloctap alloctap_annotate alloctap_interpose_hook alloctap_malloc_hooks alloctap_plt_hook
        EXPORT alloctap-targets
        FILE_SET HEADERS COMPONENT liballoctap-dev)
install(EXPORT alloctap-targets NAMESPACE alloctap:: DESTINATION "${package_dir}"
        COMPONENT liballoctap-dev)
foreach(component IN ITEMS absl_symbolizer json_dump html_dump inline_hook libdw_symbolizer pprof_dump)
  if(TARGET alloctap_${component})
    install(TARGETS alloctap_${component} EXPORT alloctap-${component}-targets)
    install(EXPORT alloctap-${component}-targets NAMESPACE alloctap:: DESTINATION "${package_dir}"
            COMPONENT liballoctap-dev)
  endif()
endforeach()

# The archive depends on the processor, so it is none of liballoctap-dev. alloctap-config.cmake adds
# what it is linked with.
if(ALLOCTAP_INSTALL_COMPILED)
  install(TARGETS alloctap_compiled EXPORT alloctap-compiled-targets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT liballoctap-compiled-dev)
  install(EXPORT alloctap-compiled-targets NAMESPACE alloctap:: DESTINATION "${package_dir}"
        COMPONENT liballoctap-compiled-dev)
endif()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/alloctap-config.cmake.in"
                              "${CMAKE_CURRENT_BINARY_DIR}/alloctap-config.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/alloctap-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/alloctap-config.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/alloctap-config-version.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/absl.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/decoder.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/libdw.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/libraries_as_needed.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/pprof.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/rapidjson.cmake"
        DESTINATION "${package_dir}" COMPONENT liballoctap-dev)

# It finds the prefix by its own place, so that what is installed may be moved.
file(RELATIVE_PATH ALLOCTAP_UP_TO_PREFIX "/${pkg_config_dir}" "/")
set(ALLOCTAP_PC_LIBDW)
if(TARGET alloctap::libdw_symbolizer)
  set(ALLOCTAP_PC_LIBDW " -Wl,--push-state,--as-needed -ldw -lelf -Wl,--pop-state")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/alloctap.pc.in" "${CMAKE_CURRENT_BINARY_DIR}/alloctap.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/alloctap.pc" DESTINATION "${pkg_config_dir}"
        COMPONENT liballoctap-dev)
if(ALLOCTAP_INSTALL_COMPILED)
  file(RELATIVE_PATH ALLOCTAP_UP_FROM_LIBDIR "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  configure_file("${CMAKE_CURRENT_LIST_DIR}/alloctap-compiled.pc.in"
               "${CMAKE_CURRENT_BINARY_DIR}/alloctap-compiled.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/alloctap-compiled.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT liballoctap-compiled-dev)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
        COMPONENT liballoctap-dev)
