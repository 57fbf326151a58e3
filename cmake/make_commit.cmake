# cmake -DSOURCE=... -DFILE=build/release/src/cli/commit.cc -P make_commit.cmake
#
# Writes FILE with the commit of the source tree. The tree may belong to another user, who ran sudo.
execute_process(
  COMMAND git -c safe.directory=${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
  WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE failed OUTPUT_VARIABLE commit ERROR_QUIET
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(failed)
  set(commit unknown)
endif()
file(WRITE ${FILE} "// Made by cmake/make_commit.cmake.
#include \"cli/version.h\"

const char* nerve::cli::commit() { return \"${commit}\"; }
")
