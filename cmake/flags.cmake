# Warnings, optimisation and the instruction sets that the CPU back end is compiled for.
add_library(vpd_flags INTERFACE)
target_compile_definitions(vpd_flags INTERFACE _GNU_SOURCE)
target_compile_options(vpd_flags INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
  -Wvla -Wno-psabi -fno-math-errno -fno-trapping-math -ffp-contract=off)
if(VPD_WERROR)
  target_compile_options(vpd_flags INTERFACE -Werror)
endif()
if(VPD_SANITIZE)
  target_compile_options(vpd_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(vpd_flags INTERFACE -fsanitize=address,undefined)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O3 -g1 -DNDEBUG")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(VPD_ISAS base avx2 avx512)
else()
  set(VPD_ISAS base)
endif()

function(vpd_isa_flags target isa)
  if(isa STREQUAL avx2)
    target_compile_options(${target} PRIVATE -mavx2 -mfma -mbmi2 -mf16c)
  elseif(isa STREQUAL avx512)
    target_compile_options(${target} PRIVATE -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma -mbmi2 -mf16c
      -mprefer-vector-width=512)
  endif()
endfunction()
if(VPD_SANITIZE)
  set(VPD_ISAS base)  # one copy is enough to look for errors
endif()
