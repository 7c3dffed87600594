find_program(XZ_PROGRAM xz REQUIRED)

# dlaunch_carried(VARIABLE HEADER FUNCTION PROGRAM...): generates a source that defines FUNCTION of HEADER with these programs (targets),
# compressed together, because they have much in common; a program that is not built is empty. Stores the name of the source in VARIABLE.
# The filter makes code of this kind of processor compress better; os/memory_program undoes it.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(carried_filter --arm64)
else()
  set(carried_filter --x86)
endif()
function(dlaunch_carried variable header function)
  string(MAKE_C_IDENTIFIER ${function} symbol)
  set(stem ${CMAKE_CURRENT_BINARY_DIR}/${symbol})
  set(targets)
  set(files)
  foreach(program IN LISTS ARGN)
    if(TARGET ${program})
      list(APPEND targets ${program})
      list(APPEND files $<TARGET_FILE:${program}>)
    else()
      list(APPEND files /dev/null)
    endif()
  endforeach()
  add_custom_command(OUTPUT ${stem}.lzma ${stem}.sizes DEPENDS ${targets} VERBATIM
    COMMAND sh -c "xz=$1 stem=$2 filter=$3; shift 3; for file; do wc -c <\"$file\"; done >\"$stem.sizes\"; cat \"$@\" | \"$xz\" --format=raw $filter --lzma2=preset=9e,dict=4MiB >\"$stem.lzma\""
      sh ${XZ_PROGRAM} ${stem} ${carried_filter} ${files})
  configure_file(${CMAKE_SOURCE_DIR}/cmake/carried.cc.in ${stem}.cc @ONLY)
  set_source_files_properties(${stem}.cc PROPERTIES OBJECT_DEPENDS "${stem}.lzma;${stem}.sizes" SKIP_UNITY_BUILD_INCLUSION ON)
  set(${variable} ${stem}.cc PARENT_SCOPE)
endfunction()
