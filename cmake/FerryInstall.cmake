# Headers, both libraries, the CMake package ferry::ferry and ferry.pc. The command installs itself, in tools/.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/ferry)
install(DIRECTORY include/ferry DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(TARGETS ferry EXPORT ferry-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ferry_static EXPORT ferry-static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${CMAKE_BINARY_DIR}/jemalloc/COPYING DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.jemalloc)

foreach(form shared static)
    install(EXPORT ferry-${form} NAMESPACE ferry:: DESTINATION ${package_folder})
endforeach()
configure_package_config_file(cmake/ferry-config.cmake.in ${CMAKE_BINARY_DIR}/ferry-config.cmake
    INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/ferry-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/ferry-config.cmake ${CMAKE_BINARY_DIR}/ferry-config-version.cmake
    DESTINATION ${package_folder})

set(FERRY_PC_PRIVATE "-pthread -ldl -lm")
if(FERRY_HAVE_CUDA)
    set(FERRY_PC_PRIVATE "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt ${FERRY_PC_PRIVATE}")
endif()
if(FERRY_SANITIZE)
    set(FERRY_PC_PRIVATE "-fsanitize=${FERRY_SANITIZE} ${FERRY_PC_PRIVATE}")
endif()
file(RELATIVE_PATH FERRY_PC_PREFIX
    /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/ferry.pc.in ${CMAKE_BINARY_DIR}/ferry.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/ferry.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
