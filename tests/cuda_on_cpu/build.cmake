# The CUDA back end as plain C++: its .cu files with the cuda_runtime.h of this folder, and host stand-ins for files that
# only wrap a library of CUDA's.
set(cuda_files)
foreach(folder ${VPD_CUDA_BACKENDS})
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cu)
  list(APPEND cuda_files ${found})
endforeach()
file(GLOB stand_ins CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
foreach(stand_in ${stand_ins})
  get_filename_component(name ${stand_in} NAME_WE)
  if(name MATCHES "^library_(.*)")  # library_blas.cpp for nn/cuda/blas.cu
    list(FILTER cuda_files EXCLUDE REGEX "/${CMAKE_MATCH_1}\\.cu$")
  endif()
endforeach()
set_source_files_properties(${cuda_files} PROPERTIES LANGUAGE CXX)
foreach(exact ${VPD_CUDA_EXACT})
  set_source_files_properties(${CMAKE_SOURCE_DIR}/${exact} PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
endforeach()
set_source_files_properties(${stand_ins} PROPERTIES COMPILE_OPTIONS -O2) # few and small, and most of the tests' time
add_library(vpd_cuda_on_cpu STATIC ${cuda_files} ${stand_ins})
target_include_directories(vpd_cuda_on_cpu BEFORE PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(vpd_cuda_on_cpu PUBLIC vpd_bench PRIVATE vpd_flags)
