# SPDX-License-Identifier: Apache-2.0
# jaxscope_module(NAME DEPENDS a b PRIVATE_LIBS x y): the library jaxscope_NAME of all sources in this folder.
# Folders depend one way only (ARCHITECTURE.md); tests/base/layers_test.cpp reads every #include against the same order.
set(JAXSCOPE_ROOT ${CMAKE_CURRENT_SOURCE_DIR})
add_library(jaxscope_flags INTERFACE)
target_include_directories(jaxscope_flags INTERFACE ${JAXSCOPE_ROOT}/core ${JAXSCOPE_ROOT})
target_compile_options(jaxscope_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
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

if(JAXSCOPE_FUZZ)
  target_compile_options(jaxscope_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(JAXSCOPE_PCH)
  file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "")
  add_library(jaxscope_pch OBJECT ${CMAKE_BINARY_DIR}/pch.cpp)
  target_link_libraries(jaxscope_pch PRIVATE jaxscope_flags)
  set(JAXSCOPE_STANDARD_HEADERS <algorithm> <array> <atomic> <cmath> <deque> <filesystem> <functional> <map> <memory> <mutex> <optional>
    <set> <span> <sstream> <string> <string_view> <tuple> <unordered_map> <unordered_set> <variant> <vector>)
  target_precompile_headers(jaxscope_pch PRIVATE ${JAXSCOPE_STANDARD_HEADERS} <fmt/format.h>)
  target_link_libraries(jaxscope_pch PRIVATE fmt::fmt)
endif()

# jaxscope_precompiled(TARGET HEADERS...): headers of its own, with the standard library's; for what includes Qt, LLVM or a test library.
function(jaxscope_precompiled target)
  if(JAXSCOPE_PCH)
    target_precompile_headers(${target} PRIVATE ${JAXSCOPE_STANDARD_HEADERS} ${ARGN})
  endif()
endfunction()

function(jaxscope_common target)
  # Executables are compiled with -fPIE, for which a header made with -fPIC doesn't serve.
  get_target_property(type ${target} TYPE)
  if(JAXSCOPE_PCH AND NOT type STREQUAL "EXECUTABLE")
    target_precompile_headers(${target} REUSE_FROM jaxscope_pch)
  endif()
endfunction()

function(jaxscope_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE_LIBS;PUBLIC_LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  add_library(jaxscope_${name} STATIC ${sources})
  list(TRANSFORM ARG_DEPENDS PREPEND jaxscope_)
  target_link_libraries(jaxscope_${name} PUBLIC jaxscope_flags ${ARG_DEPENDS} ${ARG_PUBLIC_LIBS} PRIVATE fmt::fmt ${ARG_PRIVATE_LIBS})
  jaxscope_common(jaxscope_${name})
endfunction()
