# One target per folder, and the include table as a build rule: a target sees its own folder and
# those named in MAY_INCLUDE, nothing else. Every folder is reached through a private view
# (a directory holding one symbolic link), so "journal/journal.h" resolves only where it may.
set(DAYBOOK_VIEWS ${CMAKE_BINARY_DIR}/views)

function(daybook_view folder)
  file(MAKE_DIRECTORY ${DAYBOOK_VIEWS}/${folder})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${folder} ${DAYBOOK_VIEWS}/${folder}/${folder} SYMBOLIC)
endfunction()

foreach(folder schema journal executor engine replay tools tests)
  daybook_view(${folder})
endforeach()

# daybook_folder(NAME MAY_INCLUDE a b LINK x y): a static library of every *.cc in the folder
# that has no main().
function(daybook_folder name)
  cmake_parse_arguments(arg "" "" "MAY_INCLUDE;LINK;EXCLUDE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc
       ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  foreach(file ${arg_EXCLUDE})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  if(NOT "${sources}" MATCHES "\\.cc")
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.cc "")
    list(APPEND sources ${CMAKE_CURRENT_BINARY_DIR}/empty.cc)
  endif()
  add_library(daybook_${name} STATIC ${sources})
  set_target_properties(daybook_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(daybook_${name} PUBLIC ${DAYBOOK_VIEWS}/${name})
  foreach(dep ${arg_MAY_INCLUDE})
    target_link_libraries(daybook_${name} PUBLIC daybook_${dep})
  endforeach()
  target_link_libraries(daybook_${name} ${arg_LINK})
endfunction()
