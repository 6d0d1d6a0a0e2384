# winnow_sql(<target>): each .sql of the target's folder, migrations apart, becomes a header of
# statements (tools/sql/sql_header.cc), included by the file's path: "services/<...>/<name>.sql.h".
add_executable(winnow_sql_header "${CMAKE_SOURCE_DIR}/tools/sql/sql_header.cc")
target_link_libraries(winnow_sql_header PRIVATE winnow_warnings)

function(winnow_sql target)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}/*.sql")
  list(FILTER files EXCLUDE REGEX "/migrations/")
  list(TRANSFORM files PREPEND "${CMAKE_SOURCE_DIR}/" OUTPUT_VARIABLE inputs)
  foreach(file IN LISTS files)
    set(out "${CMAKE_BINARY_DIR}/sql/${file}.h")
    add_custom_command(OUTPUT "${out}"
      COMMAND winnow_sql_header "${CMAKE_SOURCE_DIR}" "${file}" "${out}"
      DEPENDS winnow_sql_header ${inputs}
      WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
      VERBATIM)
    target_sources(${target} PRIVATE "${out}")
  endforeach()
  target_include_directories(${target} SYSTEM PUBLIC "${CMAKE_BINARY_DIR}/sql")
endfunction()
