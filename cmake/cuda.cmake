# libvpd_cuda.so: the CUDA back end, which the program opens when asked for. It needs the toolkit's compiler and headers;
# it links CUDA's runtime into itself and opens cuBLAS and cuDNN when it runs.
set(VPD_CUDA AUTO CACHE STRING "libvpd_cuda.so: ON, OFF, or AUTO, that is where nvcc is found and gcc makes a release")
# code of 8.0 runs on 8.6 and 8.9
set(VPD_CUDA_ARCHITECTURES "75;80;90;100;120" CACHE STRING "compute capabilities; the last also as PTX for later ones")
set(VPD_CUDA_BACKENDS nn/cuda gnn/cuda renderer/cuda model/cuda) # folders of .cu files
# without fused multiply-add: neighbour lists, bodies, votes, farthest points and cells equal the CPU's
set(VPD_CUDA_EXACT nn/cuda/knn_search.cu renderer/cuda/index.cu renderer/cuda/place_samples.cu gnn/cuda/flow.cu gnn/cuda/plan.cu gnn/cuda/plan_bodies.cu gnn/cuda/plan_farthest.cu)

set(VPD_WITH_CUDA OFF)
if(VPD_CUDA STREQUAL ON OR (VPD_CUDA STREQUAL AUTO AND CMAKE_C_COMPILER_ID STREQUAL GNU AND NOT VPD_SANITIZE))
  find_program(VPD_NVCC nvcc HINTS $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
  find_path(VPD_CUDNN_INCLUDE cudnn.h HINTS $ENV{CUDA_PATH}/include /usr/local/cuda/include)
  if(VPD_NVCC AND VPD_CUDNN_INCLUDE)
    set(VPD_WITH_CUDA ON)
  elseif(VPD_CUDA STREQUAL ON)
    message(FATAL_ERROR "VPD_CUDA=ON: nvcc or cudnn.h is not found; put nvcc on PATH, or set CUDA_PATH or VPD_CUDNN_INCLUDE")
  endif()
endif()

if(VPD_WITH_CUDA)
  list(GET VPD_CUDA_ARCHITECTURES -1 newest)
  list(TRANSFORM VPD_CUDA_ARCHITECTURES APPEND "-real" OUTPUT_VARIABLE CMAKE_CUDA_ARCHITECTURES)
  list(APPEND CMAKE_CUDA_ARCHITECTURES "${newest}-virtual")
  set(CMAKE_CUDA_COMPILER ${VPD_NVCC})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/nvcc_log ${VPD_CCACHE})
  set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
  enable_language(CUDA)

  foreach(folder ${VPD_CUDA_BACKENDS})
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cu)
    list(APPEND cuda_sources ${found})
  endforeach()
  # The module has its own copy of what it needs of base/ and nn/ (docs/architecture.md).
  add_library(vpd_cuda MODULE ${cuda_sources} base/arena.c base/error.c base/version.c nn/device.c nn/device_memory.c)
  add_dependencies(vpd_cuda vpd_commit)
  target_include_directories(vpd_cuda PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(vpd_cuda SYSTEM PRIVATE ${VPD_CUDNN_INCLUDE})
  list(JOIN VPD_CUDA_ARCHITECTURES " " names)
  target_compile_definitions(vpd_cuda PRIVATE _GNU_SOURCE VPD_CUDA_ARCHITECTURES="${names}")
  target_compile_options(vpd_cuda PRIVATE -fvisibility=hidden $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 -Xcompiler=-Wall,-Wextra
    -Xptxas=-v,--warn-on-spills $<$<BOOL:${VPD_WERROR}>:-Werror=all-warnings>>)
  set_source_files_properties(${VPD_CUDA_EXACT} PROPERTIES COMPILE_OPTIONS --fmad=false)
  target_link_options(vpd_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,--no-undefined)
  target_link_libraries(vpd_cuda PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(vpd_cuda PROPERTIES CUDA_RUNTIME_LIBRARY Static LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  install(TARGETS vpd_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
