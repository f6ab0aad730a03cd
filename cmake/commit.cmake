# Writes OUT, a header with the git commit of SOURCE. It is written only if the commit changed, so that one file
# rebuilds.
# Without a repository (in a container build) the commit is VPD_COMMIT of the environment.
find_program(GIT git)
set(commit "unknown")
if("$ENV{VPD_COMMIT}" MATCHES "^[0-9a-f]+$")
  set(commit "$ENV{VPD_COMMIT}")
endif()
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(commit "unknown")
  else()
    # "+" marks a build with uncommitted changes.
    execute_process(COMMAND ${GIT} -C ${SOURCE} diff --quiet HEAD -- RESULT_VARIABLE changed ERROR_QUIET)
    if(changed)
      string(APPEND commit "+")
    endif()
  endif()
endif()
set(text "// Written by cmake/commit.cmake.\n#define VPD_COMMIT \"${commit}\"\n")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
