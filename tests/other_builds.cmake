# Checks that need another build than this one, so that one ctest run tells the whole truth. scripts/test.sh makes those
# builds first; a program that is not there fails its check.

# The folders that meet bytes of strangers again under clang with AddressSanitizer and UndefinedBehaviorSanitizer (the fuzz
# build has both). scripts/test.sh says which; SANITIZED="…" there names others.
set(INFERENS_SANITIZED "" CACHE STRING "Folders of tests/ that scripts/test.sh builds with sanitizers")
foreach(folder ${INFERENS_SANITIZED})
  add_test(NAME asan-ubsan.${folder} COMMAND ${CMAKE_SOURCE_DIR}/build/fuzz/tests/test_${folder} --gtest_brief=1)
  # Without the real model: its tests say something about accuracy and take minutes under the sanitizers.
  set_tests_properties(asan-ubsan.${folder} PROPERTIES TIMEOUT 1800 LABELS sanitizer
    ENVIRONMENT_MODIFICATION INFERENS_TEST_MODELS=unset:)
endforeach()

# What threads share, under ThreadSanitizer.
add_test(NAME tsan.base COMMAND ${CMAKE_SOURCE_DIR}/build/tsan/tests/test_base --gtest_brief=1)
set_tests_properties(tsan.base PROPERTIES TIMEOUT 900 LABELS sanitizer)

# The kernels of the other architecture, under qemu.
add_test(NAME kernels.aarch64
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/kernels/aarch64_under_qemu.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/aarch64)
set_tests_properties(kernels.aarch64 PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77)
