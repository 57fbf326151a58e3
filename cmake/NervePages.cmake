# The pages: web/ and its npm packages as files that need only a browser. If npm is missing or cannot
# fetch packages, they are plain pages with the reason.
find_program(NERVE_NPM npm)
find_program(NERVE_NODE NAMES node nodejs)
if(NOT NERVE_NPM OR NOT NERVE_NODE)
  message(STATUS "npm was not found: pages will have no charts")
endif()

# nerve_pages(TEMPLATE): the target nerve_pages makes them, below web/pages/ of the build folder; the
# variable is set to a source file that holds the report page.
function(nerve_pages template)
  set(folder ${CMAKE_BINARY_DIR}/web)
  set(script ${PROJECT_SOURCE_DIR}/cmake/make_pages.cmake)
  file(GLOB_RECURSE inputs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*)
  add_custom_command(
    OUTPUT ${folder}/report_template.cc
    BYPRODUCTS ${folder}/pages/live.html ${folder}/pages/trace.html
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}/web -DFOLDER=${folder}
      -DNPM=${NERVE_NPM} -DNODE=${NERVE_NODE} -P ${script}
    DEPENDS ${inputs} ${script}
    COMMENT "Bundling the pages"
    VERBATIM)
  add_custom_target(nerve_pages ALL DEPENDS ${folder}/report_template.cc)
  set(${template} ${folder}/report_template.cc PARENT_SCOPE)
endfunction()
