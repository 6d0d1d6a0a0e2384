# winnow_embed(<target> <symbol> <file>...): each file becomes an entry of
#   namespace winnow::embedded { extern const std::span<const File> <symbol>; }
# (services/platform/base/embedded_file.h), in the order given.
function(winnow_embed target symbol)
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${symbol}_embedded.cc")
  set(inputs "")
  foreach(file IN LISTS ARGN)
    list(APPEND inputs "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  endforeach()
  add_custom_command(
    OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DOUT=${out}" "-DSYMBOL=${symbol}" "-DFILES=${inputs}"
      -P "${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake"
    DEPENDS ${inputs} "${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake"
    VERBATIM)
  target_sources(${target} PRIVATE "${out}")
endfunction()
