# The libraries that ferry_objects becomes.

find_package(Threads REQUIRED)
set(ferry_system_libraries Threads::Threads ${CMAKE_DL_LIBS} m)

# Installed programs find the library beside them, wherever the prefix is moved.
set(CMAKE_INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})

# What tests link: every symbol of the library, private ones included.
add_library(ferry_internal STATIC $<TARGET_OBJECTS:ferry_objects>)
set_target_properties(ferry_internal PROPERTIES LINKER_LANGUAGE C)
target_include_directories(ferry_internal PUBLIC ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(ferry_internal PUBLIC ferry_jemalloc ferry_cuda ${ferry_system_libraries})

set(export_map ${PROJECT_SOURCE_DIR}/cmake/ferry.map)
add_library(ferry SHARED $<TARGET_OBJECTS:ferry_objects>)
set_target_properties(ferry PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    LINKER_LANGUAGE C
    LINK_DEPENDS ${export_map})
target_include_directories(ferry PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(ferry PRIVATE
    $<BUILD_INTERFACE:ferry_flags> $<BUILD_INTERFACE:ferry_jemalloc> $<BUILD_INTERFACE:ferry_cuda>
    ${ferry_system_libraries})
target_link_options(ferry PRIVATE -Wl,--version-script=${export_map} -Wl,--exclude-libs,ALL)
# Threads of the library's own, and what the ends of others call, outlive a dlclose.
target_link_options(ferry PRIVATE -Wl,-z,nodelete)
if(NOT FERRY_SANITIZE)
    target_link_options(ferry PRIVATE -Wl,--no-undefined)
endif()
add_library(ferry::ferry ALIAS ferry)

# The static library is one relocatable object, jemalloc included, in which every hidden symbol is made local: a program
# that links it cannot collide with a private name.
set(static_object ${CMAKE_CURRENT_BINARY_DIR}/ferry_static.o)
add_custom_command(OUTPUT ${static_object}
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${static_object} $<TARGET_OBJECTS:ferry_objects>
        -Wl,--whole-archive ${FERRY_JEMALLOC_LIBRARY} -Wl,--no-whole-archive
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${static_object}
    DEPENDS $<TARGET_OBJECTS:ferry_objects> ${FERRY_JEMALLOC_LIBRARY}
    COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Linking ferry and jemalloc into one object")
set_source_files_properties(${static_object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(ferry_static STATIC ${static_object})
set_target_properties(ferry_static PROPERTIES OUTPUT_NAME ferry LINKER_LANGUAGE C)
# make has no rule for another target's objects: they have to be there first.
add_dependencies(ferry_static ferry_objects)
target_include_directories(ferry_static PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(ferry_static PUBLIC ${ferry_system_libraries})
if(FERRY_HAVE_CUDA)
    target_link_libraries(ferry_static PUBLIC CUDA::cudart_static)
endif()
if(FERRY_SANITIZE)
    target_link_options(ferry_static INTERFACE -fsanitize=${FERRY_SANITIZE})
endif()
add_library(ferry::ferry_static ALIAS ferry_static)
