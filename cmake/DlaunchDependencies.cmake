# Third-party libraries, all from the distribution; docs/internals/dependencies.md says why each is here.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
find_path(ASIO_INCLUDE_DIR asio.hpp REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_path(SPDLOG_INCLUDE_DIR spdlog/spdlog.h REQUIRED)
find_path(YAML_CPP_INCLUDE_DIR yaml-cpp/yaml.h REQUIRED)
find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
find_path(LZMA_INCLUDE_DIR lzma.h REQUIRED)
find_path(UNWIND_INCLUDE_DIR libunwind.h REQUIRED)
find_path(SODIUM_INCLUDE_DIR sodium.h REQUIRED)

if(DLAUNCH_STATIC)
  find_library(YAML_CPP_LIBRARY NAMES libyaml-cpp.a REQUIRED)
  find_library(RE2_LIBRARY NAMES libre2.a REQUIRED)
  find_library(LZMA_LIBRARY NAMES liblzma.a REQUIRED)
  find_library(UNWIND_LIBRARY NAMES libunwind-generic.a REQUIRED)
  find_library(SODIUM_LIBRARY NAMES libsodium.a REQUIRED)
else()
  find_library(YAML_CPP_LIBRARY NAMES yaml-cpp REQUIRED)
  find_library(RE2_LIBRARY NAMES re2 REQUIRED)
  find_library(LZMA_LIBRARY NAMES lzma REQUIRED)
  find_library(UNWIND_LIBRARY NAMES unwind-generic REQUIRED)
  find_library(SODIUM_LIBRARY NAMES sodium REQUIRED)
endif()

add_library(dlaunch_asio INTERFACE)
target_include_directories(dlaunch_asio SYSTEM INTERFACE ${ASIO_INCLUDE_DIR})
target_compile_definitions(dlaunch_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED)
target_link_libraries(dlaunch_asio INTERFACE Threads::Threads)

# Header-only fmt and spdlog: Debian ships no static archives of them.
# To report exceptions, spdlog would need most of fmt.
add_library(dlaunch_fmt INTERFACE)
target_compile_definitions(dlaunch_fmt INTERFACE FMT_HEADER_ONLY SPDLOG_FMT_EXTERNAL SPDLOG_NO_EXCEPTIONS)
target_include_directories(dlaunch_fmt SYSTEM INTERFACE ${SPDLOG_INCLUDE_DIR})

add_library(dlaunch_yaml INTERFACE)
target_include_directories(dlaunch_yaml SYSTEM INTERFACE ${YAML_CPP_INCLUDE_DIR})
target_link_libraries(dlaunch_yaml INTERFACE ${YAML_CPP_LIBRARY})

add_library(dlaunch_re2 INTERFACE)
target_include_directories(dlaunch_re2 SYSTEM INTERFACE ${RE2_INCLUDE_DIR})
target_link_libraries(dlaunch_re2 INTERFACE ${RE2_LIBRARY} Threads::Threads)

add_library(dlaunch_lzma INTERFACE)
target_include_directories(dlaunch_lzma SYSTEM INTERFACE ${LZMA_INCLUDE_DIR})
target_link_libraries(dlaunch_lzma INTERFACE ${LZMA_LIBRARY})

# We feed libunwind from copies of threads (node/stacks/unwinder). What of its archive would read compressed symbols (most of liblzma, 70 KB)
# or resume the own process (libunwind.a, with a second _Unwind_Resume) is never called.
add_library(dlaunch_unwind INTERFACE)
target_include_directories(dlaunch_unwind SYSTEM INTERFACE ${UNWIND_INCLUDE_DIR})
target_link_libraries(dlaunch_unwind INTERFACE ${UNWIND_LIBRARY})
if(DLAUNCH_STATIC)
  foreach(symbol lzma_index_buffer_decode lzma_index_end lzma_index_size lzma_index_uncompressed_size lzma_stream_buffer_decode
      lzma_stream_footer_decode _Ux86_64_setcontext)
    target_link_options(dlaunch_unwind INTERFACE -Wl,--defsym=${symbol}=abort)
  endforeach()
endif()

# sodium_init() prepares everything that the library can do; we use secretstream and BLAKE2b (os/sealed_stream, os/strong_hash). The rest
# (curve25519, argon2, salsa20: 135 KB) is left out, and BLAKE2b keeps its plain and its AVX2 variant.
add_library(dlaunch_sodium INTERFACE)
target_include_directories(dlaunch_sodium SYSTEM INTERFACE ${SODIUM_INCLUDE_DIR})
target_link_libraries(dlaunch_sodium INTERFACE ${SODIUM_LIBRARY})
if(DLAUNCH_STATIC)
  foreach(unused pwhash_argon2 scalarmult_curve25519 stream_salsa20)
    target_link_options(dlaunch_sodium INTERFACE -Wl,--defsym=_crypto_${unused}_pick_best_implementation=getpid)
  endforeach()
  foreach(variant ssse3 sse41)
    target_link_options(dlaunch_sodium INTERFACE -Wl,--defsym=blake2b_compress_${variant}=blake2b_compress_ref)
  endforeach()
endif()

# Optional: without it dlaunch starts no MPI programs by itself. Debian installs it in a separate folder.
find_path(PMIX_INCLUDE_DIR pmix_server.h PATH_SUFFIXES pmix2/include pmix/include
  PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib)
find_library(PMIX_LIBRARY NAMES pmix PATH_SUFFIXES pmix2/lib)
if(NOT PMIX_INCLUDE_DIR)
  unset(PMIX_LIBRARY CACHE)
endif()
