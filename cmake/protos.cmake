# winnow_protos: messages and stubs of protos/, and google/rpc of the googleapis package that
# tools/install.sh leaves in .tools/googleapis (Debian does not ship those files).
set(WINNOW_GOOGLEAPIS "${CMAKE_SOURCE_DIR}/.tools/googleapis" CACHE PATH "google/rpc/*.proto")
if(NOT EXISTS "${WINNOW_GOOGLEAPIS}/google/rpc/status.proto")
  message(FATAL_ERROR
    "google/rpc/status.proto is not in ${WINNOW_GOOGLEAPIS}: run tools/install.sh")
endif()

set(proto_out "${CMAKE_BINARY_DIR}/protos")
file(MAKE_DIRECTORY "${proto_out}")
file(GLOB_RECURSE winnow_proto_files CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}/protos"
  "${CMAKE_SOURCE_DIR}/protos/*.proto")
set(google_proto_files google/rpc/code.proto google/rpc/status.proto
  google/rpc/error_details.proto)

# generate_proto(<root> <file> <out list>): C++ messages, and stubs where the file has a service.
function(generate_proto root file out)
  string(REGEX REPLACE "\\.proto$" "" stem "${file}")
  set(outputs "${proto_out}/${stem}.pb.cc" "${proto_out}/${stem}.pb.h")
  set(plugin "")
  if(stem MATCHES "_service$")
    list(APPEND outputs "${proto_out}/${stem}.grpc.pb.cc" "${proto_out}/${stem}.grpc.pb.h")
    set(plugin "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>"
      "--grpc_out=${proto_out}")
  endif()
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND protobuf::protoc "-I${root}" "-I${CMAKE_SOURCE_DIR}/protos" "-I${WINNOW_GOOGLEAPIS}"
      "--cpp_out=${proto_out}" ${plugin} "${root}/${file}"
    DEPENDS "${root}/${file}"
    VERBATIM)
  set(${out} ${outputs} PARENT_SCOPE)
endfunction()

add_library(winnow_protos STATIC)
foreach(file IN LISTS winnow_proto_files)
  generate_proto("${CMAKE_SOURCE_DIR}/protos" "${file}" outputs)
  target_sources(winnow_protos PRIVATE ${outputs})
endforeach()
foreach(file IN LISTS google_proto_files)
  generate_proto("${WINNOW_GOOGLEAPIS}" "${file}" outputs)
  target_sources(winnow_protos PRIVATE ${outputs})
endforeach()
generate_proto("${CMAKE_SOURCE_DIR}/services/platform/grpc/protos" grpc/health/v1/health.proto
  outputs)
target_sources(winnow_protos PRIVATE ${outputs})
target_include_directories(winnow_protos SYSTEM PUBLIC "${proto_out}")
target_link_libraries(winnow_protos PUBLIC gRPC::grpc++ protobuf::libprotobuf)
if(WINNOW_SANITIZE)
  # Generated, and three times as long to compile when instrumented.
  target_compile_options(winnow_protos PRIVATE -fno-sanitize=all)
endif()

# One descriptor set of the whole API, for grpcurl without reflection, Envoy and docs. With the
# details of errors, which no proto of ours names: Envoy shows them as JSON.
set(WINNOW_DESCRIPTOR_SET "${CMAKE_BINARY_DIR}/winnow.descriptors.pb")
list(TRANSFORM winnow_proto_files PREPEND "${CMAKE_SOURCE_DIR}/protos/"
  OUTPUT_VARIABLE winnow_proto_paths)
add_custom_command(
  OUTPUT "${WINNOW_DESCRIPTOR_SET}"
  COMMAND protobuf::protoc --include_imports --include_source_info
    "--descriptor_set_out=${WINNOW_DESCRIPTOR_SET}" "-I${CMAKE_SOURCE_DIR}/protos"
    "-I${WINNOW_GOOGLEAPIS}" ${winnow_proto_files} google/rpc/error_details.proto
  DEPENDS ${winnow_proto_paths}
  WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}/protos"
  VERBATIM)
add_custom_target(winnow_descriptors ALL DEPENDS "${WINNOW_DESCRIPTOR_SET}")
