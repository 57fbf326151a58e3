# How every target of the project is compiled. Options are set by the presets.
option(NERVE_FUZZ "build the libFuzzer targets (needs clang)" OFF)
option(NERVE_FAT "keep what link-time optimisation of the verbs library needs" OFF)
option(NERVE_BY_FOLDER "compile the files of a folder as one, which halves the work of a full build" OFF)
option(NERVE_BENCH "build the benchmarks" OFF)
option(NERVE_SIM_ONLY "build the simulator alone, without GoogleTest, OpenSSL and others" OFF)
set(NERVE_SANITIZE "" CACHE STRING "value for -fsanitize=, for example address,undefined")

find_package(Threads REQUIRED)

if(NERVE_FAT)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT across_files LANGUAGES CXX)
  if(NOT across_files)
    message(STATUS "This compiler has no link-time optimisation: the verbs library will be slower")
    set(NERVE_FAT OFF)
  endif()
endif()

add_library(nerve_compile INTERFACE)
if(NERVE_FAT)
  # Programs link faster without it. Those with the property ACROSS_FILES are worth it.
  set(program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
  set(across_files $<BOOL:$<TARGET_PROPERTY:ACROSS_FILES>>)
  target_link_options(nerve_compile INTERFACE
    $<${program}:$<IF:${across_files},-flto=auto,-fno-lto>>)
endif()
target_include_directories(nerve_compile INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(nerve_compile INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
  # Results must not depend on the machine: no implicit fused multiply-add.
  -ffp-contract=off
  # The verbs library runs in foreign processes, where it must be easy to unwind and profile.
  -fno-omit-frame-pointer)

if(NERVE_BY_FOLDER)
  # Names in other files of the folder do not count; the debug preset still has these warnings.
  target_compile_options(nerve_compile INTERFACE -Wno-shadow
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

if(NERVE_SANITIZE)
  target_compile_options(nerve_compile INTERFACE
    -fsanitize=${NERVE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(nerve_compile INTERFACE -fsanitize=${NERVE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # False positives in sanitized code; the other presets still have this warning.
    target_compile_options(nerve_compile INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

if(NERVE_FUZZ)
  # Coverage in the libraries too; the main() of the fuzzer only in the targets.
  target_compile_options(nerve_compile INTERFACE -fsanitize=fuzzer-no-link)
endif()

