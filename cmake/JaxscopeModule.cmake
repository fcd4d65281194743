# SPDX-License-Identifier: Apache-2.0
# jaxscope_module(NAME DEPENDS a b PRIVATE_LIBS x y): the library jaxscope_NAME of all sources in this folder.
# Folders depend one way only (ARCHITECTURE.md); tests/base/layers_test.cpp reads every #include against the same order.
set(JAXSCOPE_ROOT ${CMAKE_CURRENT_SOURCE_DIR})
add_library(jaxscope_flags INTERFACE)
target_include_directories(jaxscope_flags INTERFACE ${JAXSCOPE_ROOT}/core ${JAXSCOPE_ROOT})
target_compile_options(jaxscope_flags INTERFACE -Wall -Wextra -Wpedantic -Wnon-virtual-dtor)
if(JAXSCOPE_UNITY)  # what shadows a name of the next source, or is private to a source, is nothing there
  target_compile_options(jaxscope_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
else()
  target_compile_options(jaxscope_flags INTERFACE -Wshadow)
endif()
# __FILE__ is the name within the sources: no program that is installed holds a path of the machine that built it. ccache may hand the compiler
# the sources' names relative to the build, hence both forms.
file(RELATIVE_PATH JAXSCOPE_TO_ROOT ${CMAKE_BINARY_DIR} ${JAXSCOPE_ROOT})
target_compile_options(jaxscope_flags INTERFACE -fmacro-prefix-map=${JAXSCOPE_TO_ROOT}= -fmacro-prefix-map=${JAXSCOPE_ROOT}/=)
if(JAXSCOPE_WERROR)
  target_compile_options(jaxscope_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of g++ 12 on std::variant and std::optional, and at -O3 on std::string's operator+.
  target_compile_options(jaxscope_flags INTERFACE -Wno-maybe-uninitialized -Wno-missing-field-initializers -Wno-stringop-overflow
    -Wno-restrict $<$<CONFIG:Release>:-Wno-array-bounds>)
else()
  target_compile_options(jaxscope_flags INTERFACE -Wno-missing-field-initializers)
endif()
if(JAXSCOPE_SANITIZE)
  target_compile_options(jaxscope_flags INTERFACE -fsanitize=${JAXSCOPE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(jaxscope_flags INTERFACE -fsanitize=${JAXSCOPE_SANITIZE})
  if(JAXSCOPE_NO_SANITIZE)
    target_compile_options(jaxscope_flags INTERFACE -fno-sanitize=${JAXSCOPE_NO_SANITIZE})
  endif()
endif()

# What fuzz targets run, and are guided by (tests/fuzz).
set(JAXSCOPE_FUZZED base ir lax transforms calls io)
if(JAXSCOPE_FUZZ)
  target_compile_options(jaxscope_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Sanitised, what nothing runs for long is compiled without optimisation, which takes half the time: all but the fuzzed libraries, the JIT,
# the devices that run it, and searches for policies.
set(JAXSCOPE_OPTIMISED ${JAXSCOPE_FUZZED} jit devices analysis)
function(jaxscope_quick_to_compile target)
  if(JAXSCOPE_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

if(JAXSCOPE_PCH)
  file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "")
  set(JAXSCOPE_STANDARD_HEADERS <algorithm> <array> <atomic> <cmath> <deque> <filesystem> <functional> <map> <memory> <mutex> <optional>
    <set> <span> <sstream> <string> <string_view> <tuple> <unordered_map> <unordered_set> <variant> <vector>)
  foreach(pch jaxscope_pch jaxscope_quick_pch)
    add_library(${pch} OBJECT ${CMAKE_BINARY_DIR}/pch.cpp)
    target_link_libraries(${pch} PRIVATE jaxscope_flags fmt::fmt)
    target_precompile_headers(${pch} PRIVATE ${JAXSCOPE_STANDARD_HEADERS} <fmt/format.h>)
  endforeach()
  jaxscope_quick_to_compile(jaxscope_quick_pch)
endif()

# jaxscope_precompiled(TARGET HEADERS...): headers of its own, with the standard library's; for what includes Qt, LLVM or a test library.
function(jaxscope_precompiled target)
  if(JAXSCOPE_PCH)
    target_precompile_headers(${target} PRIVATE ${JAXSCOPE_STANDARD_HEADERS} ${ARGN})
  endif()
endfunction()

# jaxscope_unity(TARGET AT_ONCE SOURCES...): as many of a folder's sources are compiled as one; so names of their own may not repeat in it.
function(jaxscope_unity target at_once)
  if(NOT JAXSCOPE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${ARGN})
    get_filename_component(folder ${source} DIRECTORY)
    file(RELATIVE_PATH folder ${JAXSCOPE_ROOT} ${folder})
    string(MAKE_C_IDENTIFIER ${folder} folder)
    math(EXPR count_${folder} "0${count_${folder}} + 1")
    math(EXPR part "(${count_${folder}} - 1) / ${at_once}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${part})
  endforeach()
endfunction()

function(jaxscope_common target)
  set(pch jaxscope_pch)
  string(REPLACE "jaxscope_" "" name ${target})
  if(JAXSCOPE_SANITIZE AND NOT name IN_LIST JAXSCOPE_OPTIMISED)
    set(pch jaxscope_quick_pch)
    jaxscope_quick_to_compile(${target})
  endif()
  # Executables are compiled with -fPIE, for which a header made with -fPIC doesn't serve.
  get_target_property(type ${target} TYPE)
  if(JAXSCOPE_PCH AND NOT type STREQUAL "EXECUTABLE")
    target_precompile_headers(${target} REUSE_FROM ${pch})
  endif()
endfunction()

function(jaxscope_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE_LIBS;PUBLIC_LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  add_library(jaxscope_${name} STATIC ${sources})
  list(TRANSFORM ARG_DEPENDS PREPEND jaxscope_)
  target_link_libraries(jaxscope_${name} PUBLIC jaxscope_flags ${ARG_DEPENDS} ${ARG_PUBLIC_LIBS} PRIVATE fmt::fmt ${ARG_PRIVATE_LIBS})
  if(JAXSCOPE_COVERAGE AND name IN_LIST JAXSCOPE_FUZZED)
    target_compile_options(jaxscope_${name} PRIVATE -fsanitize-coverage=trace-pc,trace-cmp)
  endif()
  jaxscope_common(jaxscope_${name})
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  jaxscope_unity(jaxscope_${name} 8 ${sources})
endfunction()
