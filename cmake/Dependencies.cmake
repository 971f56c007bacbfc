# Everything comes from Debian 12 packages; nothing is downloaded or vendored.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(FlatBuffers CONFIG REQUIRED)
find_package(Boost 1.81 CONFIG REQUIRED)
find_package(CURL REQUIRED)
find_package(RocksDB CONFIG REQUIRED)
find_package(tomlplusplus CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(tl-expected CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(libzstd REQUIRED IMPORTED_TARGET libzstd)

find_program(CCACHE ccache)
if(CCACHE)
  # basedir and nohashdir let a second clone or build folder hit the same cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports false positives from inlined std::string and coroutine frames at -O2.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
                      -Wno-array-bounds -Wno-dangling-pointer)
endif()
if(DAYBOOK_SANITIZE)
  add_compile_options(-fsanitize=${DAYBOOK_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DAYBOOK_SANITIZE})
  if(DAYBOOK_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(DAYBOOK_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan) # Asio's fences
  endif()
endif()
if(DAYBOOK_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
