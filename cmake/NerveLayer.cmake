# nerve_by_folder(TARGET source...): the files of each folder are compiled as one, which reads the
# headers once. Rebuilding one file then takes as long as all of its folder.
function(nerve_by_folder target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${ARGN})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src)
    string(REPLACE "/" "_" group ${folder})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

# nerve_layer(NAME [APART] [USES layer...]): the static library nerve_NAME from src/NAME/**.cc.
# APART: its files do not go together, because they give different things one name.
function(nerve_layer name)
  cmake_parse_arguments(layer "APART" "" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  list(TRANSFORM layer_USES PREPEND nerve_)
  if(sources)
    add_library(nerve_${name} STATIC ${sources})
    target_link_libraries(nerve_${name} PUBLIC nerve_compile ${layer_USES})
    if(NERVE_BY_FOLDER AND NOT layer_APART)
      nerve_by_folder(nerve_${name} ${sources})
    endif()
    if(NERVE_FAT)
      # Both forms: libibverbs.so.1 is optimised across all layers, programs are not.
      target_compile_options(nerve_${name} PRIVATE -flto=auto -ffat-lto-objects)
    endif()
  else()
    add_library(nerve_${name} INTERFACE)
    target_link_libraries(nerve_${name} INTERFACE nerve_compile ${layer_USES})
  endif()
endfunction()
