# `cpack` in a build folder makes the packages of packaging/make.py (a wheel, a .deb, a tarball) from
# that build. CPack's own generators do not produce the same bytes twice and cannot make wheels.
if(CPACK_EXTERNAL_PACKAGE_SCRIPT) # CPack runs this file, too
  execute_process(
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/../packaging/make.py --binary ${CPACK_DLAUNCH} --out ${CPACK_PACKAGE_DIRECTORY}
    COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()
set(CPACK_GENERATOR External)
set(CPACK_EXTERNAL_PACKAGE_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_DLAUNCH ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/dlaunch)
include(CPack)
