# cmake -DPROGRAM=nerve -DFOLDER=build/release/man -DVERSION=... -DCOMMANDS=run;... -P make_man_pages.cmake
#
# Writes FOLDER/nerve-COMMAND.1 for each command: what its --help prints, as a manual page.
foreach(command ${COMMANDS})
  execute_process(COMMAND ${PROGRAM} ${command} --help
    RESULT_VARIABLE failed OUTPUT_VARIABLE text)
  if(failed)
    message(FATAL_ERROR "${PROGRAM} ${command} --help failed")
  endif()
  string(REGEX MATCH "^[^\n]*" summary "${text}")
  string(LENGTH "${summary}" length)
  string(SUBSTRING "${text}" ${length} -1 text)
  string(STRIP "${text}" text)
  # roff takes a backslash, and a dot or quote that begins a line, for its own; - would be a hyphen.
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")
  string(TOUPPER "nerve-${command}" title)
  file(WRITE ${FOLDER}/nerve-${command}.1
".\\\" Made by cmake/make_man_pages.cmake from `nerve ${command} --help`.
.TH ${title} 1 \"\" \"nerve ${VERSION}\" \"Nerve\"
.SH NAME
nerve\\-${command} \\- ${summary}
.SH DESCRIPTION
.nf
${text}
.fi
.SH SEE ALSO
.BR nerve (1)
")
endforeach()
