package io.winnow.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Status.Code;
import io.winnow.classification.v1.ActivateRunRequest;
import io.winnow.classification.v1.CommentStatus;
import io.winnow.classification.v1.ExportClassificationsRequest;
import io.winnow.classification.v1.ImportCommentsRequest;
import io.winnow.classification.v1.IngestVerdictsRequest;
import io.winnow.classification.v1.IngestedVerdicts;
import io.winnow.classification.v1.Run;
import io.winnow.classification.v1.RunState;
import io.winnow.classification.v1.StartRunRequest;
import io.winnow.classification.v1.Verdict;
import io.winnow.classification.v1.VerdictList;
import io.winnow.classification.v1.WatchClassificationsRequest;
import io.winnow.classification.v1.WatchRunRequest;
import io.winnow.client.ClassificationClient;
import io.winnow.client.Result;
import io.winnow.client.Winnow;
import io.winnow.client.WinnowException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A Java agent that judges comments itself: verdicts in, watched, swapped in, exported. */
@Tag("e2e")
class VerdictsE2eTest {
  private static final int COMMENTS = 2500;
  private static final int MESSAGE = 1000;
  private static final String VIDEO = "agent-video";
  private static final Pattern FILTERED = Pattern.compile("\"status\": ?\"filtered\"");
  private static final Pattern ID = Pattern.compile("\"comment_id\": ?\"(c\\d+)\"");

  private static ByteString comments() {
    return ByteString.copyFromUtf8(
        IntStream.range(0, COMMENTS)
            .mapToObj(n -> "{\"id\":\"c%d\",\"text\":\"댓글 %d\"}".formatted(n, n))
            .collect(Collectors.joining(",", "[", "]")));
  }

  private static CommentStatus judged(int number) {
    return number % 10 == 0
        ? CommentStatus.COMMENT_STATUS_FILTERED
        : CommentStatus.COMMENT_STATUS_NORMAL;
  }

  private static IngestVerdictsRequest message(String run, int first) {
    var verdicts = VerdictList.newBuilder();
    for (int n = first; n < Math.min(first + MESSAGE, COMMENTS); ++n) {
      verdicts.addVerdicts(Verdict.newBuilder().setCommentId("c" + n).setStatus(judged(n)));
    }
    return IngestVerdictsRequest.newBuilder().setRunId(run).setVerdicts(verdicts).build();
  }

  private static List<Result<IngestedVerdicts>> deliver(
      ClassificationClient calls, List<IngestVerdictsRequest> messages) {
    List<Result<IngestedVerdicts>> results = new ArrayList<>();
    calls.ingestVerdicts(messages.iterator(), (message, result) -> results.add(result));
    assertEquals(messages.size(), results.size());
    return results;
  }

  private static Run last(ClassificationClient calls, String run) {
    Run last = Run.getDefaultInstance();
    var changes = calls.watchRun(WatchRunRequest.newBuilder().setRunId(run).build());
    while (changes.hasNext()) {
      last = changes.next().getRun();
    }
    return last;
  }

  @Test
  void anAgentsVerdictsAreDeliveredWatchedSwappedInAndExported() throws Exception {
    try (var server = new WinnowProcess();
        Winnow winnow = Winnow.builder(server.address()).timeout(Duration.ofSeconds(60)).build()) {
      var calls = winnow.classification();
      calls.importComments(
          ImportCommentsRequest.newBuilder().setVideoId(VIDEO).setRaw(comments()).build());
      String run =
          calls
              .startRun(
                  StartRunRequest.newBuilder()
                      .setVideoId(VIDEO)
                      .setClassifier("external")
                      .setModel("agent-1")
                      .build())
              .getRun()
              .getId();
      var watch =
          calls.watchClassifications(
              WatchClassificationsRequest.newBuilder().setVideoId(VIDEO).build());
      assertFalse(watch.next().getResumeToken().isEmpty());

      var results =
          deliver(
              calls,
              List.of(
                  message(run, 0),
                  message("no-such-run", 0),
                  message(run, MESSAGE),
                  message(run, 2 * MESSAGE)));
      assertEquals(MESSAGE, results.get(0).get().getWrittenCount());
      var refused = assertThrows(WinnowException.class, () -> results.get(1).get());
      assertTrue(
          Set.of(Code.NOT_FOUND, Code.INVALID_ARGUMENT).contains(refused.code()),
          refused.getMessage());
      assertEquals(0, results.get(3).get().getMissingCount());
      assertEquals(MESSAGE, deliver(calls, List.of(message(run, 0))).get(0).get().getKnownCount());

      assertEquals(RunState.RUN_STATE_COMPLETE, last(calls, run).getState());
      calls.activateRun(ActivateRunRequest.newBuilder().setRunId(run).build());
      assertEquals(run, watch.next().getActivated().getRunId());
      assertExports(calls);
    }
  }

  private static void assertExports(ClassificationClient calls) {
    Set<String> filtered = new HashSet<>();
    int count = 0;
    var lines =
        calls.exportClassifications(
            ExportClassificationsRequest.newBuilder().setVideoId(VIDEO).build());
    while (lines.hasNext()) {
      String line = lines.next();
      ++count;
      if (FILTERED.matcher(line).find()) {
        Matcher id = ID.matcher(line);
        assertTrue(id.find(), line);
        filtered.add(id.group(1));
      }
    }
    assertEquals(COMMENTS, count);
    var expected =
        IntStream.range(0, COMMENTS)
            .filter(n -> judged(n) == CommentStatus.COMMENT_STATUS_FILTERED)
            .mapToObj(n -> "c" + n)
            .collect(Collectors.toSet());
    assertEquals(expected, filtered);
  }
}
