# cmake -DSOURCE=web -DFOLDER=build/release/web -DNPM=... -DNODE=... -P make_report_template.cmake
#
# Writes FOLDER/report_template.cc. Packages are fetched into FOLDER, never into the source tree, and
# once for each package-lock.json. FOLDER/no_charts exists when the plain page had to do: whoever
# wants charts removes report_template.cc and builds again.
set(why "")
if(NOT NPM OR NOT NODE)
  set(why "npm was not found when Nerve was built")
endif()

if(NOT why)
  foreach(file package.json package-lock.json build.mjs)
    configure_file(${SOURCE}/${file} ${FOLDER}/${file} COPYONLY)
  endforeach()
  file(SHA256 ${SOURCE}/package-lock.json wanted)
  set(fetched "")
  if(EXISTS ${FOLDER}/node_modules/.nerve-lock)
    file(READ ${FOLDER}/node_modules/.nerve-lock fetched)
  endif()
  if(NOT fetched STREQUAL wanted)
    # None of our packages needs to run a script of its own when it is installed.
    execute_process(
      COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline
        --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=30000
      WORKING_DIRECTORY ${FOLDER}
      RESULT_VARIABLE failed OUTPUT_VARIABLE told ERROR_VARIABLE told)
    if(failed)
      message(STATUS "npm ci failed: report pages will have no charts\n${told}")
      set(why "npm could not fetch the chart library when Nerve was built")
    else()
      file(WRITE ${FOLDER}/node_modules/.nerve-lock ${wanted})
    endif()
  endif()
endif()

if(NOT why)
  execute_process(COMMAND ${NODE} build.mjs ${SOURCE} page.html WORKING_DIRECTORY ${FOLDER}
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "the report page could not be bundled")
  endif()
  file(READ ${FOLDER}/page.html page)
  file(REMOVE ${FOLDER}/no_charts)
else()
  file(READ ${SOURCE}/plain.html page)
  string(REPLACE "<!--why-->" "${why}" page "${page}")
  file(WRITE ${FOLDER}/no_charts "${why}\n")
endif()

file(WRITE ${FOLDER}/report_template.cc "// Made by cmake/make_report_template.cmake from web/.
#include \"cli/report_page.h\"

std::string_view nerve::cli::report_template() { return R\"nerve_page(${page})nerve_page\"; }
")
