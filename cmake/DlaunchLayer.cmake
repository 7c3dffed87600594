# dlaunch_layer(NAME SOURCES a.cc b.cc USES model wire): one layer of the house as a static library.
# USES names the layers below; an include that is not covered by it fails tests/layers.
function(dlaunch_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  add_library(dlaunch_${name} STATIC ${ARG_SOURCES})
  target_include_directories(dlaunch_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  foreach(layer IN LISTS ARG_USES)
    target_link_libraries(dlaunch_${name} PUBLIC dlaunch_${layer})
  endforeach()
  target_link_libraries(dlaunch_${name} PRIVATE dlaunch_warnings PUBLIC ${ARG_LIBRARIES})
endfunction()
