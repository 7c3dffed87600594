# Warnings are errors: an ignored warning hides the one that matters.
add_library(dlaunch_warnings INTERFACE)
target_compile_options(dlaunch_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  -Wunused -Wnull-dereference -Wimplicit-fallthrough -Werror)
# GCC 12 reports false positives of these in libstdc++ and in coroutine frames at -O2
# (GCC bugs 105651, 105329, 105562).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(dlaunch_warnings INTERFACE
    -Wno-restrict -Wno-null-dereference -Wno-maybe-uninitialized -Wno-stringop-overflow)
endif()
# Sources that are compiled together see each other's unnamed namespaces; builds without DLAUNCH_UNITY keep these warnings.
if(DLAUNCH_UNITY)
  target_compile_options(dlaunch_warnings INTERFACE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
