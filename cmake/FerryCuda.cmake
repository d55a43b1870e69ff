# ferry_cuda: the CUDA runtime, linked statically, where the toolkit is there. NVRTC, cuBLAS and CUPTI give headers only:
# they are opened at run time. FERRY_HAVE_CUDA says what was found.

add_library(ferry_cuda INTERFACE)
set(FERRY_HAVE_CUDA OFF)
# CMake 3.25's module takes a library for granted that CUDA 13 no longer has.
if(CMAKE_VERSION VERSION_LESS 3.26 AND NOT TARGET CUDA::nvToolsExt)
    add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
if(FERRY_CUDA STREQUAL "AUTO")
    find_package(CUDAToolkit 13.0 QUIET)
elseif(FERRY_CUDA)
    find_package(CUDAToolkit 13.0 REQUIRED)
endif()
if(FERRY_CUDA AND CUDAToolkit_FOUND AND TARGET CUDA::cudart_static)
    set(FERRY_HAVE_CUDA ON)
    target_compile_definitions(ferry_cuda INTERFACE FERRY_WITH_CUDA=1)
    target_link_libraries(ferry_cuda INTERFACE CUDA::cudart_static)
    # CUPTI's headers live beside the toolkit's in some packagings.
    find_path(FERRY_CUPTI_INCLUDE cupti.h
        HINTS ${CUDAToolkit_INCLUDE_DIRS}
        PATHS ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include ${CUDAToolkit_TARGET_DIR}/extras/CUPTI/include
        NO_DEFAULT_PATH)
    if(FERRY_CUPTI_INCLUDE)
        target_include_directories(ferry_cuda SYSTEM INTERFACE ${FERRY_CUPTI_INCLUDE})
        target_compile_definitions(ferry_cuda INTERFACE FERRY_WITH_CUPTI=1)
    endif()
    message(STATUS "ferry: CUDA backend with toolkit ${CUDAToolkit_VERSION}")
else()
    message(STATUS "ferry: no CUDA backend, the simulator only")
endif()
