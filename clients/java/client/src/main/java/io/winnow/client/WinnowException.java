package io.winnow.client;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A call, or one element of a batch, failed; with everything that the server said about it.
 *
 * <p>{@link #code()} says what to do: fix the request (INVALID_ARGUMENT), stop (NOT_FOUND,
 * ALREADY_EXISTS), change the state (FAILED_PRECONDITION), redo the whole step (ABORTED), send less
 * (RESOURCE_EXHAUSTED), try later (UNAVAILABLE), report (INTERNAL).
 */
public final class WinnowException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final Code code;
  private final String reason;
  private final transient Map<String, String> metadata;
  private final transient List<Violation> violations;
  private final Duration retryAfter;

  private WinnowException(Code code, String message, Details details, Throwable cause) {
    super(text(code, message, details.violations), cause);
    this.code = code;
    this.reason = details.reason;
    this.metadata = details.metadata;
    this.violations = details.violations;
    this.retryAfter = details.retryAfter;
  }

  /** The gRPC code. */
  public Code code() {
    return code;
  }

  /**
   * The exact cause: a value of winnow.common.v1.ErrorReason without its prefix, e.g. {@code
   * INVALID_FIELD}. Empty when the error was made elsewhere, e.g. by the network.
   */
  public String reason() {
    return reason;
  }

  /** What the reason is about, e.g. "resource" and "id". */
  public Map<String, String> metadata() {
    return metadata;
  }

  /** Everything that is wrong with the request. */
  public List<Violation> violations() {
    return violations;
  }

  /** After how long the server suggests to try again, if it does. */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }

  static WinnowException from(StatusRuntimeException error) {
    com.google.rpc.Status details = StatusProto.fromThrowable(error);
    Status status = error.getStatus();
    String message = status.getDescription() == null ? "" : status.getDescription();
    Details read = details == null ? Details.NONE : Details.of(details);
    // What gRPC makes of a stream that a proxy resets because the server behind it died. A defect
    // of Winnow is INTERNAL with a reason.
    boolean isLost = status.getCode() == Code.INTERNAL || status.getCode() == Code.UNKNOWN;
    if (isLost && read.reason.isEmpty()) {
      String lost = "the connection was lost: " + message;
      return new WinnowException(Code.UNAVAILABLE, lost, read, error);
    }
    return new WinnowException(status.getCode(), message, read, error);
  }

  /** The error of one element of a batch or stream. */
  static WinnowException from(com.google.rpc.Status status) {
    Code code = Status.fromCodeValue(status.getCode()).getCode();
    return new WinnowException(code, status.getMessage(), Details.of(status), null);
  }

  static WinnowException of(Code code, String message) {
    return new WinnowException(code, message, Details.NONE, null);
  }

  private static String text(Code code, String message, List<Violation> violations) {
    return code
        + ": "
        + message
        + violations.stream()
            .map(violation -> "\n  " + violation.field() + ": " + violation.description())
            .collect(Collectors.joining());
  }

  private record Details(
      String reason,
      Map<String, String> metadata,
      List<Violation> violations,
      Duration retryAfter) {
    static final Details NONE = new Details("", Map.of(), List.of(), null);

    static Details of(com.google.rpc.Status status) {
      String reason = "";
      Map<String, String> metadata = Map.of();
      List<Violation> violations = List.of();
      Duration retryAfter = null;
      for (Any any : status.getDetailsList()) {
        try {
          if (any.is(ErrorInfo.class)) {
            ErrorInfo info = any.unpack(ErrorInfo.class);
            reason = info.getReason();
            metadata = Map.copyOf(info.getMetadataMap());
          } else if (any.is(BadRequest.class)) {
            violations =
                any.unpack(BadRequest.class).getFieldViolationsList().stream()
                    .map(v -> new Violation(v.getField(), v.getDescription()))
                    .toList();
          } else if (any.is(RetryInfo.class)) {
            var delay = any.unpack(RetryInfo.class).getRetryDelay();
            retryAfter = Duration.ofSeconds(delay.getSeconds(), delay.getNanos());
          }
        } catch (InvalidProtocolBufferException malformed) {
          // Not ours to understand: code and message still say what happened.
          continue;
        }
      }
      return new Details(reason, metadata, violations, retryAfter);
    }
  }
}
