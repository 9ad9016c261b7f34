# inferens_xgrammar: the C++ core of xgrammar as a static library of our own making. Its own build turns Python bindings,
# -Werror and link-time optimization on; here its sources get plain flags, and only src/engine/grammar/ sees its headers.
# scripts/fetch_sources.sh puts the sources in place; nothing is downloaded here.
set(INFERENS_XGRAMMAR_SOURCE ${CMAKE_SOURCE_DIR}/.deps/xgrammar-0.2.9 CACHE PATH "Unpacked source package of xgrammar 0.2.9")
if(NOT EXISTS ${INFERENS_XGRAMMAR_SOURCE}/include/xgrammar/xgrammar.h)
  message(FATAL_ERROR "The sources of xgrammar are not in ${INFERENS_XGRAMMAR_SOURCE}; scripts/setup.sh fetches them")
endif()

file(GLOB_RECURSE xgrammar_sources ${INFERENS_XGRAMMAR_SOURCE}/cpp/*.cc)
list(FILTER xgrammar_sources EXCLUDE REGEX "/cpp/tvm_ffi/")
add_library(inferens_xgrammar STATIC ${xgrammar_sources})
target_include_directories(inferens_xgrammar SYSTEM
  PUBLIC ${INFERENS_XGRAMMAR_SOURCE}/include ${INFERENS_XGRAMMAR_SOURCE}/cpp
  PUBLIC ${INFERENS_XGRAMMAR_SOURCE}/3rdparty/picojson ${INFERENS_XGRAMMAR_SOURCE}/3rdparty/dlpack/include)
# XGRAMMAR_LOG_CUSTOMIZE: src/engine/grammar/ implements its log, since a warning of it is a constraint it leaves out.
target_compile_definitions(inferens_xgrammar PUBLIC
  XGRAMMAR_ENABLE_CPPTRACE=0 XGRAMMAR_ENABLE_INTERNAL_CHECK=0 XGRAMMAR_LOG_CUSTOMIZE=1)
set_target_properties(inferens_xgrammar PROPERTIES CXX_STANDARD 17)
target_compile_options(inferens_xgrammar PRIVATE -w)
target_link_libraries(inferens_xgrammar PRIVATE Threads::Threads)
# What runs for every token is optimized as usual; the converters run once a grammar, and would be half of the compile time.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  foreach(source ${xgrammar_sources})
    if(NOT source MATCHES "/(earley_parser|grammar_matcher|grammar_compiler|compiled_grammar|fsm|tokenizer_info)\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -O1)
    endif()
  endforeach()
endif()
# Both sides of its headers must agree on what a container looks like, so the sanitizers are on here, too.
if(INFERENS_SANITIZE)
  target_compile_options(inferens_xgrammar PRIVATE -fsanitize=${INFERENS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(INFERENS_SANITIZE MATCHES "undefined")
    target_compile_options(inferens_xgrammar PRIVATE -fno-sanitize=vptr)
  endif()
endif()
