# nerve_shipped_policy(TARGET): compiles policies/default.toml into the target, so that neither the
# library nor the simulator looks for it. tests/nic compares the two.
function(nerve_shipped_policy target)
  set(file ${PROJECT_SOURCE_DIR}/policies/default.toml)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/shipped_policy.cc)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(REGEX REPLACE "#[^\n]*" "" text "${text}")
  string(REGEX MATCH "window = ([0-9]+)" found "${text}")
  if(NOT found)
    message(FATAL_ERROR "${file} has no window")
  endif()
  set(values ".window = ${CMAKE_MATCH_1}")
  foreach(key low high scale first second last)
    if(NOT text MATCHES "\n${key} = \\[([-0-9, \n]*)\\]")
      message(FATAL_ERROR "${file} has no list ${key}")
    endif()
    string(APPEND values ",\n    .${key} = {${CMAKE_MATCH_1}}")
  endforeach()
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"// Generated from policies/default.toml.
#include \"nic/flow_control/policy.h\"

namespace nerve::nic {
namespace {

constexpr Policy kShipped{
    @values@};

}  // namespace

const Policy& shipped_policy() { return kShipped; }

}  // namespace nerve::nic
")
  target_sources(${target} PRIVATE ${source})
endfunction()
