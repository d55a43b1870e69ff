# The target `demo`: a .npy file, made if it is not there, through a kernel and back, and the report of what crossed.

add_executable(make_input EXCLUDE_FROM_ALL examples/make_input.c)
ferry_compile(make_input)
target_link_libraries(make_input PRIVATE ferry)

if(TARGET ferry_command)
    set(demo_folder ${CMAKE_BINARY_DIR}/demo)
    file(MAKE_DIRECTORY ${demo_folder})
    add_custom_command(OUTPUT ${demo_folder}/x.npy
        COMMAND make_input ${demo_folder}/x.npy 16777216
        COMMENT "Making x.npy: 16777216 float64 values")
    add_custom_target(demo
        COMMAND ${CMAKE_COMMAND} -E echo "ferry apply log x.npy -o y.npy --report"
        COMMAND ferry_command apply log x.npy -o y.npy --report
        DEPENDS ${demo_folder}/x.npy
        WORKING_DIRECTORY ${demo_folder}
        COMMENT ""
        USES_TERMINAL VERBATIM)
endif()
