# ferry_test(NAME name
#            SOURCES file.c … | COMMAND program arg …
#            [ARGS arg …] [LABELS label …] [ENVIRONMENT KEY=value …] [LIBRARIES target …] [TIMEOUT seconds]
#            [NUMPY] [SERIAL])
#
# A test is one executable `test_<name>` over the internal static library, with the source root and include/ on its
# include path; or a command. Exit status 77 means skipped. LABELS defaults to unit.
# NUMPY: FERRY_PYTHON in the environment names an interpreter with NumPy; without one the test is skipped. Adds the
# label numpy.
# TIMEOUT: 300 without it; four times as long in sanitizer builds.
# SERIAL: nothing else runs at the same time.

# The first of these that imports NumPy.
function(ferry_find_python)
    if(FERRY_PYTHON AND NOT FERRY_PYTHON MATCHES "NOTFOUND$")
        return()
    endif()
    foreach(candidate /usr/bin/python3 python3)
        execute_process(COMMAND ${candidate} -c "import numpy, sys; print(sys.executable)"
            OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
        if(status EQUAL 0)
            set(FERRY_PYTHON ${found} CACHE FILEPATH "Python interpreter with NumPy, for tests" FORCE)
            return()
        endif()
    endforeach()
    set(FERRY_PYTHON FERRY_PYTHON-NOTFOUND CACHE FILEPATH "Python interpreter with NumPy, for tests" FORCE)
    message(STATUS "ferry: no Python with NumPy; tests that compare with NumPy are skipped")
endfunction()

if(FERRY_TESTS)
    ferry_find_python()
endif()

set(FERRY_TEST_SANITIZER_ENVIRONMENT
    "ASAN_OPTIONS=abort_on_error=0:detect_stack_use_after_return=0:allocator_may_return_null=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${CMAKE_CURRENT_LIST_DIR}/tsan.supp")

function(ferry_test)
    cmake_parse_arguments(PARSE_ARGV 0 TEST "NUMPY;SERIAL" "NAME;TIMEOUT" "SOURCES;COMMAND;ARGS;LABELS;ENVIRONMENT;LIBRARIES")
    if(TEST_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "ferry_test(${TEST_NAME}): unknown arguments ${TEST_UNPARSED_ARGUMENTS}")
    endif()
    if(TEST_SOURCES)
        add_executable(test_${TEST_NAME} ${TEST_SOURCES})
        ferry_compile(test_${TEST_NAME})
        target_include_directories(test_${TEST_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
        target_link_libraries(test_${TEST_NAME} PRIVATE ferry_internal ${TEST_LIBRARIES})
        set(TEST_COMMAND test_${TEST_NAME})
    endif()
    set(environment ${TEST_ENVIRONMENT})
    if(FERRY_SANITIZE)
        list(APPEND environment ${FERRY_TEST_SANITIZER_ENVIRONMENT})
    endif()
    if(TEST_NUMPY AND FERRY_PYTHON)
        list(APPEND environment "FERRY_PYTHON=${FERRY_PYTHON}")
    endif()
    if(NOT TEST_LABELS)
        set(TEST_LABELS unit)
    endif()
    if(TEST_NUMPY)
        list(APPEND TEST_LABELS numpy)
    endif()
    if(NOT TEST_TIMEOUT)
        set(TEST_TIMEOUT 300)
    endif()
    if(FERRY_SANITIZE)
        math(EXPR TEST_TIMEOUT "4 * ${TEST_TIMEOUT}")
    endif()
    if(TEST_NUMPY AND NOT FERRY_PYTHON)
        add_test(NAME ${TEST_NAME} COMMAND sh -c "echo 'no Python with NumPy'; exit 77")
    else()
        add_test(NAME ${TEST_NAME} COMMAND ${TEST_COMMAND} ${TEST_ARGS} COMMAND_EXPAND_LISTS)
    endif()
    set_tests_properties(${TEST_NAME} PROPERTIES
        SKIP_RETURN_CODE 77
        TIMEOUT ${TEST_TIMEOUT}
        LABELS "${TEST_LABELS}"
        ENVIRONMENT "${environment}")
    if(TEST_SERIAL)
        set_tests_properties(${TEST_NAME} PROPERTIES RUN_SERIAL ON)
    endif()
endfunction()
