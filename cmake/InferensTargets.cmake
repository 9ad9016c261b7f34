# The ways things are built here: a layer (static library, one per folder of src/) and a test program (one per folder
# of tests/). Sources are globbed, so that a new file needs no edit of a build file.

add_library(inferens_options INTERFACE)
target_include_directories(inferens_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(inferens_options INTERFACE
  -Wall -Wextra -Werror -Wnon-virtual-dtor -fno-strict-aliasing
  # Contracting a*b+c changes bits between builds; kernels call fma where they want one.
  -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(inferens_options INTERFACE -Wshadow=local)  # clang has no such kind
  # GCC 12 reports false positives of these deep inside the standard library when it inlines at -O2 and above.
  target_compile_options(inferens_options INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds -Wno-restrict -Wno-stringop-overread -Wno-dangling-pointer)
else()
  # libstdc++ 12 calls its own deprecated get_temporary_buffer in stable_sort; clang reports it at our call.
  target_compile_options(inferens_options INTERFACE -Wno-deprecated-declarations)
endif()
target_link_libraries(inferens_options INTERFACE Threads::Threads)
if(INFERENS_SANITIZE)
  target_compile_options(inferens_options INTERFACE -fsanitize=${INFERENS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # The check of virtual tables takes a quarter of the compile time of sanitized code and finds what ASan finds.
  if(INFERENS_SANITIZE MATCHES "undefined")
    target_compile_options(inferens_options INTERFACE -fno-sanitize=vptr)
  endif()
  target_link_options(inferens_options INTERFACE -fsanitize=${INFERENS_SANITIZE})
endif()
if(INFERENS_FUZZ)
  target_compile_options(inferens_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# inferens_layer(NAME LINKS…): library inferens_NAME from the .cc files directly in this folder and its subfolders, except
# those named *_main.cc. A folder without sources yet is a layer of headers.
function(inferens_layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_main\\.cc$|/main\\.cc$")
  if(NOT sources)
    add_library(inferens_${name} INTERFACE)
    target_link_libraries(inferens_${name} INTERFACE inferens_options ${ARGN})
    return()
  endif()
  add_library(inferens_${name} STATIC ${sources})
  target_link_libraries(inferens_${name} PUBLIC inferens_options ${ARGN})
endfunction()

# inferens_test(FOLDER LINKS…): test program test_FOLDER from tests/FOLDER/**/*_test.cc, each case known to ctest.
function(inferens_test folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${folder} ${sources})
  target_link_libraries(test_${folder} PRIVATE ${ARGN} GTest::gmock GTest::gtest GTest::gtest_main)
  # Test code is run once: optimizing its assertions would take most of the build (GCC -O3: twice the time of -O1; clang
  # -O1 with sanitizers: three times that of -O0). What is tested keeps its own flags.
  if(INFERENS_SANITIZE)
    target_compile_options(test_${folder} PRIVATE -O0)
  elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(test_${folder} PRIVATE -O1)
  endif()
  target_compile_definitions(test_${folder} PRIVATE
    INFERENS_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/golden" INFERENS_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  gtest_discover_tests(test_${folder} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()

# The layers that a source file includes headers of: for programs of one file (fuzzers, micro-benchmarks).
function(inferens_included_layers source out)
  set(layers inferens_base)
  file(STRINGS ${source} includes REGEX "^#include \"[a-z]+/")
  foreach(include ${includes})
    string(REGEX REPLACE "^#include \"([a-z]+)/.*" "\\1" layer ${include})
    if(TARGET inferens_${layer})
      list(APPEND layers inferens_${layer})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES layers)
  set(${out} ${layers} PARENT_SCOPE)
endfunction()
