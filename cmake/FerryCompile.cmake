# ferry_compile(target): the project's language level, visibility and warnings.

add_library(ferry_flags INTERFACE)
target_compile_features(ferry_flags INTERFACE c_std_11)
# Empty, so that a file that also defines it for itself does not redefine it.
target_compile_definitions(ferry_flags INTERFACE _GNU_SOURCE=)
target_compile_options(ferry_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wvla
    # Fusing a*b+c is left to the source: results must not depend on the compiler.
    -ffp-contract=off
    $<$<BOOL:${FERRY_WERROR}>:-Werror>)
if(FERRY_SANITIZE)
    # gcc's instrumentation hides casts from -Wconversion.
    target_compile_options(ferry_flags INTERFACE -Wno-conversion
        -fsanitize=${FERRY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(ferry_flags INTERFACE -fsanitize=${FERRY_SANITIZE})
endif()

function(ferry_compile target)
    set_target_properties(${target} PROPERTIES
        C_EXTENSIONS OFF
        C_VISIBILITY_PRESET hidden
        POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:ferry_flags>)
endfunction()
