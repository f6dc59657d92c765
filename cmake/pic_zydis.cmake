# alloctap_import_pic_zydis(): defines alloctap_pic_zydis, the static Zydis that may go into a shared
# object, where code of the target is patched with Zydis. It is no alloctap::decoder: that is the
# system's, shared one, which everything else here uses.
function(alloctap_import_pic_zydis)
  if(TARGET alloctap_pic_zydis OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  set(archive "${ALLOCTAP_PIC_ZYDIS_DIR}/lib/libZydis.a")
  if(NOT EXISTS "${archive}")
    message(FATAL_ERROR "No position-independent Zydis in ${ALLOCTAP_PIC_ZYDIS_DIR}. "
                        "Build it with: sh ${PROJECT_SOURCE_DIR}/cmake/zydis_pic.sh")
  endif()
  add_library(alloctap_pic_zydis INTERFACE IMPORTED GLOBAL)
  target_compile_definitions(alloctap_pic_zydis INTERFACE ZYDIS_STATIC_BUILD)
  target_include_directories(alloctap_pic_zydis SYSTEM
                             INTERFACE "${ALLOCTAP_PIC_ZYDIS_DIR}/include")
  target_link_libraries(alloctap_pic_zydis INTERFACE "${archive}")
endfunction()
