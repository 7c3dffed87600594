# dlaunch_layer(NAME SOURCES a.cc b.cc USES model wire): one layer as a static library.
# A layer in a folder of another (node/pmi) is named node_pmi here. USES names the layers below; an include that USES does not cover fails tests/layers.
function(dlaunch_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  add_library(dlaunch_${name} STATIC ${ARG_SOURCES})
  target_include_directories(dlaunch_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  foreach(layer IN LISTS ARG_USES)
    target_link_libraries(dlaunch_${name} PUBLIC dlaunch_${layer})
  endforeach()
  target_link_libraries(dlaunch_${name} PRIVATE dlaunch_warnings PUBLIC ${ARG_LIBRARIES})
  dlaunch_unity(dlaunch_${name})
endfunction()

# dlaunch_exceptions(a.cc b.cc): sources with libraries that throw. All others are built without exceptions, which makes the binary smaller.
# An exception in those (std::bad_alloc) ends the process (cli/main.cc).
function(dlaunch_exceptions)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fexceptions -frtti)
endfunction()

# dlaunch_hot(a.cc b.cc): sources whose speed matters; a release builds the rest for size.
function(dlaunch_hot)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
endfunction()
