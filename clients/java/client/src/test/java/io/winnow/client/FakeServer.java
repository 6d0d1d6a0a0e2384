package io.winnow.client;

import com.google.protobuf.Any;
import com.google.rpc.BadRequest;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import com.google.rpc.Status;
import io.grpc.BindableService;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** A real gRPC server on a free port, with the service that a test wrote. */
final class FakeServer implements AutoCloseable {
  private final Server server;

  FakeServer(BindableService service) throws IOException {
    server =
        Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
            .addService(service)
            .build()
            .start();
  }

  String address() {
    return "127.0.0.1:" + server.getPort();
  }

  @Override
  public void close() {
    server.shutdownNow();
    try {
      server.awaitTermination(30, TimeUnit.SECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** UNAVAILABLE as the server says it, with a hint of a millisecond. */
  static StatusRuntimeException unavailable() {
    return StatusProto.toStatusRuntimeException(
        Status.newBuilder()
            .setCode(Code.UNAVAILABLE_VALUE)
            .setMessage("the store is away")
            .addDetails(
                Any.pack(
                    ErrorInfo.newBuilder()
                        .setDomain("winnow")
                        .setReason("STORE_UNAVAILABLE")
                        .build()))
            .addDetails(
                Any.pack(
                    RetryInfo.newBuilder()
                        .setRetryDelay(
                            com.google.protobuf.Duration.newBuilder().setNanos(1_000_000))
                        .build()))
            .build());
  }

  /** FAILED_PRECONDITION, for this reason. */
  static StatusRuntimeException failedPrecondition(String reason) {
    return StatusProto.toStatusRuntimeException(
        Status.newBuilder()
            .setCode(Code.FAILED_PRECONDITION_VALUE)
            .setMessage("not as it stands")
            .addDetails(
                Any.pack(ErrorInfo.newBuilder().setDomain("winnow").setReason(reason).build()))
            .build());
  }

  /** INVALID_ARGUMENT with one violation per field. */
  static Status invalid(String... fields) {
    BadRequest.Builder bad = BadRequest.newBuilder();
    for (String field : fields) {
      bad.addFieldViolationsBuilder().setField(field).setDescription("is required");
    }
    return Status.newBuilder()
        .setCode(Code.INVALID_ARGUMENT_VALUE)
        .setMessage("the request is invalid")
        .addDetails(Any.pack(ErrorInfo.newBuilder().setReason("INVALID_FIELD").build()))
        .addDetails(Any.pack(bad.build()))
        .build();
  }
}
