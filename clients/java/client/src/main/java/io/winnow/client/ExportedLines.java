package io.winnow.client;

import io.winnow.classification.v1.ClassificationServiceGrpc;
import io.winnow.classification.v1.ExportClassificationsRequest;
import io.winnow.classification.v1.ExportClassificationsResponse;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/** The lines of an export, over as many streams as it takes: the server ends long ones. */
final class ExportedLines implements Iterator<String> {
  private final Connection connection;
  private ExportClassificationsRequest request;
  private Iterator<ExportClassificationsResponse> stream =
      List.<ExportClassificationsResponse>of().iterator();
  private Iterator<String> lines = List.<String>of().iterator();
  private boolean done;

  ExportedLines(Connection connection, ExportClassificationsRequest request) {
    this.connection = connection;
    this.request = request;
  }

  @Override
  public boolean hasNext() {
    while (!lines.hasNext() && !done) {
      if (stream.hasNext()) {
        ExportClassificationsResponse answer = stream.next();
        lines = answer.getNdjson().lines().iterator();
        request = request.toBuilder().setResumeToken(answer.getResumeToken()).build();
        done = answer.getDone();
      } else {
        stream =
            connection.watch(
                ClassificationServiceGrpc.getExportClassificationsMethod(), request);
      }
    }
    return lines.hasNext();
  }

  @Override
  public String next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return lines.next();
  }
}
