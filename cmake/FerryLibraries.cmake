# The libraries that ferry_objects becomes.

set(FERRY_SYSTEM_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS} m)
find_package(Threads REQUIRED)

# What tests link: every symbol of the library, private ones included.
add_library(ferry_internal STATIC $<TARGET_OBJECTS:ferry_objects>)
target_link_libraries(ferry_internal PUBLIC ferry_jemalloc ferry_cuda ${FERRY_SYSTEM_LIBRARIES})
target_include_directories(ferry_internal PUBLIC ${PROJECT_SOURCE_DIR}/include)
set_target_properties(ferry_internal PROPERTIES LINKER_LANGUAGE C)

set(export_map ${PROJECT_SOURCE_DIR}/cmake/ferry.map)
add_library(ferry SHARED $<TARGET_OBJECTS:ferry_objects>)
target_link_libraries(ferry PRIVATE
    $<BUILD_INTERFACE:ferry_jemalloc> $<BUILD_INTERFACE:ferry_cuda> $<BUILD_INTERFACE:ferry_flags>
    ${FERRY_SYSTEM_LIBRARIES})
target_link_options(ferry PRIVATE -Wl,--version-script=${export_map} -Wl,--exclude-libs,ALL)
if(NOT FERRY_SANITIZE)
    target_link_options(ferry PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(ferry PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINKER_LANGUAGE C LINK_DEPENDS ${export_map})
target_include_directories(ferry PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_library(ferry::ferry ALIAS ferry)
