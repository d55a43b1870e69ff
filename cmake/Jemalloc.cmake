# ferry_jemalloc: jemalloc 5.3.0, private to ferry, static and position independent; ferry_jemalloc_plain: the same for
# the ordinary heap of the preload library, whose threads' caches are in static TLS. jemalloc's own headers come with
# each: preload/fast.c is compiled with what they inline.
#
# The release tarball is looked for in .deps/ and $FERRY_DEPS, then in the distribution's source archive, then at
# upstream's; its hash must be the one below. Each is built once per compiler and set of flags, into
# ${FERRY_CACHE:-${XDG_CACHE_HOME:-~/.cache}/ferry}, which every build tree shares.
#
# The sanitizer builds use the same library: its own memory is not what they look at.

set(jemalloc_version 5.3.0)
set(jemalloc_sha256 2db82d1e7119df3e71b7640219b6dfe84789bc0537983c3b7ac4f7189aecfeaa)
set(jemalloc_url https://github.com/jemalloc/jemalloc/releases/download/5.3.0/jemalloc-5.3.0.tar.bz2)
set(jemalloc_options --without-export --disable-cxx --disable-cache-oblivious --disable-shared)
set(jemalloc_flags -O2 -g1)

function(ferry_cache_folder out)
    if(NOT "$ENV{FERRY_CACHE}" STREQUAL "")
        set(folder $ENV{FERRY_CACHE})
    elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
        set(folder $ENV{XDG_CACHE_HOME}/ferry)
    elseif(NOT "$ENV{HOME}" STREQUAL "")
        set(folder $ENV{HOME}/.cache/ferry)
    else()
        set(folder ${CMAKE_BINARY_DIR}/cache)
    endif()
    get_filename_component(folder ${folder} ABSOLUTE BASE_DIR ${CMAKE_BINARY_DIR})
    execute_process(COMMAND ${CMAKE_COMMAND} -E make_directory ${folder} RESULT_VARIABLE status ERROR_QUIET)
    execute_process(COMMAND ${CMAKE_COMMAND} -E touch ${folder}/lock RESULT_VARIABLE writable ERROR_QUIET)
    if(NOT status EQUAL 0 OR NOT writable EQUAL 0)
        set(folder ${CMAKE_BINARY_DIR}/cache)
        file(MAKE_DIRECTORY ${folder})
    endif()
    set(${out} ${folder} PARENT_SCOPE)
endfunction()

function(jemalloc_matches file out)
    file(SHA256 ${file} hash)
    if(hash STREQUAL jemalloc_sha256)
        set(${out} TRUE PARENT_SCOPE)
    else()
        set(${out} FALSE PARENT_SCOPE)
    endif()
endfunction()

# The tarball's path, wherever it was. `store` keeps what had to be fetched.
function(jemalloc_find_tarball store out)
    set(names jemalloc-${jemalloc_version}.tar.bz2 jemalloc_${jemalloc_version}.orig.tar.bz2)
    foreach(folder ${PROJECT_SOURCE_DIR}/.deps "$ENV{FERRY_DEPS}" ${store})
        foreach(name IN LISTS names)
            if(NOT folder STREQUAL "" AND EXISTS ${folder}/${name})
                jemalloc_matches(${folder}/${name} good)
                if(NOT good)
                    message(FATAL_ERROR "${folder}/${name} is not jemalloc's release: its SHA-256 is not "
                        "${jemalloc_sha256}. Remove or replace it.")
                endif()
                set(${out} ${folder}/${name} PARENT_SCOPE)
                return()
            endif()
        endforeach()
    endforeach()

    set(fetched ${store}/jemalloc-${jemalloc_version}.tar.bz2)
    set(incoming ${store}/incoming)
    file(REMOVE_RECURSE ${incoming})
    file(MAKE_DIRECTORY ${incoming})
    message(STATUS "ferry: fetching jemalloc ${jemalloc_version} from the distribution's source archive")
    execute_process(COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/debian-source.sh jemalloc ${incoming}
        RESULT_VARIABLE status OUTPUT_VARIABLE log ERROR_VARIABLE log TIMEOUT 300)
    set(tarball ${incoming}/jemalloc_${jemalloc_version}.orig.tar.bz2)
    set(good FALSE)
    if(EXISTS ${tarball})
        jemalloc_matches(${tarball} good)
    endif()
    if(NOT good)
        message(STATUS "ferry: not there; fetching jemalloc ${jemalloc_version} from upstream")
        set(tarball ${incoming}/jemalloc-${jemalloc_version}.tar.bz2)
        file(DOWNLOAD ${jemalloc_url} ${tarball} STATUS status INACTIVITY_TIMEOUT 60 TLS_VERIFY ON)
        if(EXISTS ${tarball})
            jemalloc_matches(${tarball} good)
        endif()
    endif()
    if(NOT good)
        message(FATAL_ERROR "jemalloc ${jemalloc_version} was found neither in .deps/ nor in the folder that FERRY_DEPS names, "
            "and could not be fetched (${status}). Put jemalloc-${jemalloc_version}.tar.bz2 into .deps/.\n"
            "The distribution's source archive said:\n${log}")
    endif()
    file(RENAME ${tarball} ${fetched})
    file(REMOVE_RECURSE ${incoming})
    set(${out} ${fetched} PARENT_SCOPE)
endfunction()

# Runs one step of the build; a failure shows the end of what it printed.
function(jemalloc_step folder)
    execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${folder}
        RESULT_VARIABLE status OUTPUT_VARIABLE log ERROR_VARIABLE log)
    if(NOT status EQUAL 0)
        string(LENGTH "${log}" length)
        if(length GREATER 4000)
            math(EXPR start "${length} - 4000")
            string(SUBSTRING "${log}" ${start} -1 log)
        endif()
        message(FATAL_ERROR "building jemalloc failed (${status}): ${ARGN}\n${log}")
    endif()
endfunction()

# Builds in a scratch folder beside `destination`, then renames: a reader sees nothing or all of it. The caller holds the
# cache's lock, so scratch folders found here are left over from interrupted builds.
function(jemalloc_build tarball destination options)
    find_program(FERRY_MAKE NAMES gmake make)
    if(NOT FERRY_MAKE)
        message(FATAL_ERROR "jemalloc's build needs make")
    endif()
    set(scratch ${destination}.building)
    file(REMOVE_RECURSE ${scratch})
    set(source ${scratch}/jemalloc-${jemalloc_version})
    file(ARCHIVE_EXTRACT INPUT ${tarball} DESTINATION ${scratch})
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
    message(STATUS "ferry: building jemalloc ${jemalloc_version} (about a minute, once)")
    string(JOIN " " flags ${jemalloc_flags} -ffile-prefix-map=${scratch}/=)
    # An enclosing make's flags are not meant for this one.
    jemalloc_step(${source} ${CMAKE_COMMAND} -E env --unset=MAKEFLAGS --unset=MAKELEVEL
        "CC=${CMAKE_C_COMPILER}" "CFLAGS=${flags}" sh ./configure ${options})
    jemalloc_step(${source} ${CMAKE_COMMAND} -E env --unset=MAKEFLAGS --unset=MAKELEVEL
        ${FERRY_MAKE} -j${cores} lib/libjemalloc_pic.a include/jemalloc/jemalloc.h)
    file(COPY ${source}/lib/libjemalloc_pic.a ${source}/COPYING DESTINATION ${scratch}/out)
    file(COPY ${source}/include DESTINATION ${scratch}/out FILES_MATCHING PATTERN "*.h")
    file(RENAME ${scratch}/out ${destination})
    file(REMOVE_RECURSE ${scratch})
endfunction()

# jemalloc_library(target folder option…): the target, built with these options or found in the cache.
function(jemalloc_library target folder)
    set(options ${jemalloc_options} ${ARGN})
    ferry_cache_folder(cache)
    string(SHA256 key "own headers;${options};${jemalloc_flags};${CMAKE_C_COMPILER_ID};${CMAKE_C_COMPILER_VERSION};${CMAKE_SYSTEM_PROCESSOR};${CMAKE_SIZEOF_VOID_P}")
    string(SUBSTRING ${key} 0 16 key)
    set(built ${cache}/jemalloc-${jemalloc_version}-${key})
    if(NOT EXISTS ${built})
        file(LOCK ${cache}/lock TIMEOUT 1800)
        if(NOT EXISTS ${built})
            file(MAKE_DIRECTORY ${cache}/sources)
            jemalloc_find_tarball(${cache}/sources tarball)
            jemalloc_build(${tarball} ${built} "${options}")
        endif()
        file(LOCK ${cache}/lock RELEASE)
    endif()
    # A copy, so that emptying the cache leaves a build tree whole.
    set(copy ${CMAKE_BINARY_DIR}/${folder})
    file(COPY ${built}/ DESTINATION ${copy})
    add_library(${target} INTERFACE)
    target_include_directories(${target} SYSTEM INTERFACE ${copy}/include)
    target_link_libraries(${target} INTERFACE ${copy}/libjemalloc_pic.a)
endfunction()

# Initial-exec TLS would need more static TLS than dlopen has to give.
jemalloc_library(ferry_jemalloc jemalloc --disable-initial-exec-tls
    --with-jemalloc-prefix=ferry_je_ --with-private-namespace=ferry_jei_)
set(FERRY_JEMALLOC_LIBRARY ${CMAKE_BINARY_DIR}/jemalloc/libjemalloc_pic.a)
if(FERRY_PRELOAD)
    jemalloc_library(ferry_jemalloc_plain jemalloc_plain
        --with-jemalloc-prefix=ferry_plain_ --with-private-namespace=ferry_plaini_)
endif()
