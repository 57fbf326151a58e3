# The report page of simulated runs: web/ and its npm packages as one template in a C++ source file.
# If npm is missing or cannot fetch packages, the template is a plain page with the reason.
find_program(NERVE_NPM npm)
find_program(NERVE_NODE NAMES node nodejs)
if(NOT NERVE_NPM OR NOT NERVE_NODE)
  message(STATUS "npm was not found: report pages will have no charts")
endif()

# nerve_report_template(VARIABLE): the path of that source file, generated on demand.
function(nerve_report_template variable)
  set(folder ${CMAKE_BINARY_DIR}/web)
  set(script ${PROJECT_SOURCE_DIR}/cmake/make_report_template.cmake)
  file(GLOB_RECURSE inputs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*)
  add_custom_command(
    OUTPUT ${folder}/report_template.cc
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}/web -DFOLDER=${folder}
      -DNPM=${NERVE_NPM} -DNODE=${NERVE_NODE} -P ${script}
    DEPENDS ${inputs} ${script}
    COMMENT "Bundling the report page"
    VERBATIM)
  set(${variable} ${folder}/report_template.cc PARENT_SCOPE)
endfunction()
