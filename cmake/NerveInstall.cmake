# What `cmake --install` puts where, and the packages that cpack makes of it; docs/install.md has the
# table. Component nerve: the command, its libraries, manual, completions, examples. Component dev:
# the engine as a library.
include(GNUInstallDirs)
set(packaging ${PROJECT_SOURCE_DIR}/packaging)
set(private lib/nerve)  # relative to bin/, where `nerve` looks for it: the same on every distribution
set(doc share/doc/nerve)

# --- the command ---------------------------------------------------------------------------------
install(TARGETS nerve_cli RUNTIME DESTINATION bin COMPONENT nerve)
install(TARGETS nerve_sim_cli RUNTIME DESTINATION ${private} COMPONENT nerve)
install(FILES ${CMAKE_BINARY_DIR}/web/pages/live.html ${CMAKE_BINARY_DIR}/web/pages/trace.html
  DESTINATION ${private}/pages COMPONENT nerve)
install(TARGETS nerve_verbs nerve_preload LIBRARY DESTINATION ${private} COMPONENT nerve
  NAMELINK_SKIP)
install(TARGETS nerve_gpu_copier RUNTIME DESTINATION ${private} COMPONENT nerve)

# A page for each sub-command, from its --help; nerve(1) is written by hand.
set(commands run trace demo devices stat top metrics web doctor decode key controller sim sweep plan learn)
set(man ${CMAKE_BINARY_DIR}/man)
list(TRANSFORM commands REPLACE "(.+)" "${man}/nerve-\\1.1" OUTPUT_VARIABLE pages)
add_custom_command(OUTPUT ${pages}
  COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:nerve_cli> -DFOLDER=${man}
    -DVERSION=${PROJECT_VERSION} "-DCOMMANDS=${commands}"
    -P ${PROJECT_SOURCE_DIR}/cmake/make_man_pages.cmake
  DEPENDS nerve_cli nerve_sim_cli ${PROJECT_SOURCE_DIR}/cmake/make_man_pages.cmake
  COMMENT "Writing the manual pages"
  VERBATIM)
add_custom_target(nerve_man ALL DEPENDS ${pages})
configure_file(${packaging}/man/nerve.1.in ${man}/nerve.1 @ONLY)
install(FILES ${man}/nerve.1 ${pages} DESTINATION share/man/man1 COMPONENT nerve)

install(FILES ${packaging}/completions/nerve.bash RENAME nerve
  DESTINATION share/bash-completion/completions COMPONENT nerve)
install(FILES ${packaging}/completions/_nerve
  DESTINATION share/zsh/vendor-completions COMPONENT nerve)
install(FILES ${packaging}/completions/nerve.fish
  DESTINATION share/fish/vendor_completions.d COMPONENT nerve)

# The Python module, where Debian's Python looks for modules of packages.
if(TARGET nerve_python)
  install(TARGETS nerve_python LIBRARY DESTINATION lib/python3/dist-packages/nerve COMPONENT nerve)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/nerve DESTINATION lib/python3/dist-packages
    COMPONENT nerve FILES_MATCHING PATTERN "*.py")
endif()

install(FILES README.md CHANGELOG.md DESTINATION ${doc} COMPONENT nerve)
install(FILES LICENSE RENAME copyright DESTINATION ${doc} COMPONENT nerve)
install(FILES data/prices.toml data/market.toml DESTINATION share/nerve COMPONENT nerve)
install(DIRECTORY docs DESTINATION ${doc} COMPONENT nerve)
install(DIRECTORY examples DESTINATION ${doc} COMPONENT nerve PATTERN embed EXCLUDE)
install(DIRECTORY policies DESTINATION share/nerve COMPONENT nerve)

# --- the engine as a library ---------------------------------------------------------------------
# Without what only our own compiler can use (optimisation across files) and without debug
# information, which would be ten times as large.
add_library(nerve_engine STATIC $<TARGET_OBJECTS:nerve_base> $<TARGET_OBJECTS:nerve_wire>
  $<TARGET_OBJECTS:nerve_nic>)
set_target_properties(nerve_engine PROPERTIES LINKER_LANGUAGE CXX)
target_compile_features(nerve_engine PUBLIC cxx_std_20)
target_include_directories(nerve_engine INTERFACE $<INSTALL_INTERFACE:include/nerve>)
add_custom_command(TARGET nerve_engine POST_BUILD
  COMMAND ${CMAKE_OBJCOPY} --strip-debug --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_*
    $<TARGET_FILE:nerve_engine>
  VERBATIM)
install(TARGETS nerve_engine EXPORT NerveEngine ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT dev)
install(EXPORT NerveEngine FILE NerveEngineConfig.cmake NAMESPACE nerve::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/NerveEngine COMPONENT dev)
set_target_properties(nerve_engine PROPERTIES EXPORT_NAME engine)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/NerveEngineConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)  # before 1.0 anything may change
install(FILES ${CMAKE_BINARY_DIR}/NerveEngineConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/NerveEngine COMPONENT dev)
configure_file(${packaging}/nerve-engine.pc.in ${CMAKE_BINARY_DIR}/nerve-engine.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/nerve-engine.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
# The engine's doors, and the headers that they include: asked at install time, for they change.
install(CODE "set(source \"${PROJECT_SOURCE_DIR}/src\")
set(doors nic/nic.h nic/connection/connection_manager.h wire/packet.h wire/pcap.h)
set(folder include/nerve)" COMPONENT dev)
install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake COMPONENT dev)
install(DIRECTORY examples/embed DESTINATION share/doc/nerve-dev/examples COMPONENT dev)
install(FILES LICENSE RENAME copyright DESTINATION share/doc/nerve-dev COMPONENT dev)

include(NervePackages)
