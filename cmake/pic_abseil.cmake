# alloctap_import_pic_abseil(): defines alloctap_pic_abseil, the static Abseil that may go into a
# shared object. It is no find_package(absl): its targets would clash with those of the system's
# Abseil, which everything else here uses.
function(alloctap_import_pic_abseil)
  if(TARGET alloctap_pic_abseil)
    return()
  endif()
  file(GLOB archives "${ALLOCTAP_PIC_ABSEIL_DIR}/lib/libabsl_*.a")
  if(NOT archives)
    message(FATAL_ERROR "No position-independent Abseil in ${ALLOCTAP_PIC_ABSEIL_DIR}. Build it with: "
                        "sh ${PROJECT_SOURCE_DIR}/cmake/abseil_pic.sh ${ALLOCTAP_PIC_ABSEIL_DIR} "
                        "${CMAKE_TOOLCHAIN_FILE}")
  endif()
  add_library(alloctap_pic_abseil INTERFACE IMPORTED GLOBAL)
  target_include_directories(alloctap_pic_abseil SYSTEM
                             INTERFACE "${ALLOCTAP_PIC_ABSEIL_DIR}/include")
  list(JOIN archives "," archives)
  target_link_libraries(alloctap_pic_abseil INTERFACE "$<LINK_GROUP:RESCAN,${archives}>"
                                                      Threads::Threads)
endfunction()
