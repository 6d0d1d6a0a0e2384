package io.winnow.client;

import io.winnow.events.v1.DeadLetter;
import io.winnow.events.v1.DeadLetterSelection;
import io.winnow.events.v1.DeadLetterServiceGrpc;
import io.winnow.events.v1.ListDeadLettersRequest;
import io.winnow.events.v1.PurgeDeadLettersRequest;
import io.winnow.events.v1.PurgeDeadLettersResponse;
import io.winnow.events.v1.ReplayDeadLettersRequest;
import io.winnow.events.v1.ReplayDeadLettersResponse;

/** DeadLetterService: events that a consumer could not take. Every call is safe to repeat. */
public final class EventsClient {
  private final Connection connection;

  EventsClient(Connection connection) {
    this.connection = connection;
  }

  /** Dead letters that pass the request's filters. */
  public Pages<DeadLetter> deadLetters(ListDeadLettersRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page =
              connection.call(
                  DeadLetterServiceGrpc.getListDeadLettersMethod(),
                  request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getDeadLettersList(), page.getNextPageToken());
        });
  }

  /** Delivers dead letters again, at most 10,000 a call; with {@code dryRun} counts them. */
  public ReplayDeadLettersResponse replayDeadLetters(
      DeadLetterSelection selection, boolean dryRun) {
    var request =
        ReplayDeadLettersRequest.newBuilder().setSelection(selection).setDryRun(dryRun).build();
    return connection.call(DeadLetterServiceGrpc.getReplayDeadLettersMethod(), request);
  }

  /** Throws dead letters away, at most 10,000 a call; with {@code dryRun} counts them. */
  public PurgeDeadLettersResponse purgeDeadLetters(DeadLetterSelection selection, boolean dryRun) {
    var request =
        PurgeDeadLettersRequest.newBuilder().setSelection(selection).setDryRun(dryRun).build();
    return connection.call(DeadLetterServiceGrpc.getPurgeDeadLettersMethod(), request);
  }
}
