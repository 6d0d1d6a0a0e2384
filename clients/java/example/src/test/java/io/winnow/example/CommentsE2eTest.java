package io.winnow.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.FieldMask;
import io.winnow.classification.v1.ActivateRunRequest;
import io.winnow.classification.v1.CommentStatus;
import io.winnow.classification.v1.GetPolicyRequest;
import io.winnow.classification.v1.GetRunRequest;
import io.winnow.classification.v1.ImportCommentsRequest;
import io.winnow.classification.v1.RunState;
import io.winnow.classification.v1.StartRunRequest;
import io.winnow.classification.v1.TextRule;
import io.winnow.classification.v1.UpdatePolicyRequest;
import io.winnow.client.Winnow;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** The flow of a Java team that keeps raw comments in Redis and reads verdicts from there. */
@Tag("e2e")
class CommentsE2eTest {
  private static final int COMMENTS = 200;
  private static final String RAW = "youtube:video:PLo9u5Mm5TA:comments";
  private static final String VERDICTS = "video:PLo9u5Mm5TA:classification";

  private static String rawComments() {
    return IntStream.range(0, COMMENTS)
        .mapToObj(
            n ->
                "{\"comment_id\":\"UgyQbxEOl74hRc1xk%04dAaABAg\",\"content\":\"잘 봤습니다\"}"
                    .formatted(n))
        .collect(Collectors.joining(",", "[", "]"));
  }

  private static String completeRun(Winnow winnow) throws InterruptedException {
    String run =
        winnow
            .classification()
            .startRun(StartRunRequest.newBuilder().setVideoId("PLo9u5Mm5TA").build())
            .getRun()
            .getId();
    var get = GetRunRequest.newBuilder().setRunId(run).build();
    Await.until(
        "the run is complete",
        () ->
            winnow.classification().getRun(get).getRun().getState()
                == RunState.RUN_STATE_COMPLETE);
    return run;
  }

  private static void activate(Winnow winnow, String run) {
    winnow.classification().activateRun(ActivateRunRequest.newBuilder().setRunId(run).build());
  }

  /** From now on every comment with these words is filtered. */
  private static void filterAll(Winnow winnow) {
    var policy =
        winnow.classification().getPolicy(GetPolicyRequest.getDefaultInstance()).getPolicy();
    var rule =
        TextRule.newBuilder()
            .setContains("잘 봤습니다")
            .setStatus(CommentStatus.COMMENT_STATUS_FILTERED)
            .setReason("hate_speech");
    winnow
        .classification()
        .updatePolicy(
            UpdatePolicyRequest.newBuilder()
                .setPolicy(policy.toBuilder().addTextRules(rule))
                .setUpdateMask(FieldMask.newBuilder().addPaths("text_rules"))
                .build());
  }

  @Test
  void aPlainRedisClientReadsOneRunWhileRunsAreSwapped() throws Exception {
    try (var redis = new RedisProcess();
        var server =
            new WinnowProcess(", \"redis\": {\"url\": \"%s\"}".formatted(redis.url()));
        Winnow winnow =
            Winnow.builder(server.address()).timeout(Duration.ofSeconds(30)).build();
        Jedis reader = redis.connect()) {
      String raw = rawComments();
      reader.set(RAW, raw);
      var imported =
          winnow
              .classification()
              .importComments(
                  ImportCommentsRequest.newBuilder()
                      .setVideoId("PLo9u5Mm5TA")
                      .setRedisKey(RAW)
                      .build());
      assertEquals(COMMENTS, imported.getCreatedCount());
      String mild = completeRun(winnow);
      filterAll(winnow);
      String strict = completeRun(winnow);
      activate(winnow, mild);
      Await.until("the verdicts", () -> reader.hlen(VERDICTS) == COMMENTS + 1);
      assertReadsWholeRuns(winnow, reader, mild, strict);
      assertEquals(raw, reader.get(RAW), "the raw comments are only ever read");
    }
  }

  private static void assertReadsWholeRuns(Winnow winnow, Jedis reader, String mild, String strict)
      throws InterruptedException {
    var stop = new AtomicBoolean();
    var swapper =
        new Thread(
            () -> {
              for (int turn = 0; !stop.get(); ++turn) {
                activate(winnow, turn % 2 == 0 ? strict : mild);
              }
            });
    swapper.start();
    Set<String> seen = new HashSet<>();
    try {
      Await.until(
          "both runs",
          () -> {
            Map<String, String> verdicts = reader.hgetAll(VERDICTS);
            String metadata = verdicts.remove("_metadata");
            assertTrue(metadata.contains("updated_at") && metadata.contains("model"), metadata);
            assertEquals(COMMENTS, verdicts.size());
            Set<String> values = new HashSet<>(verdicts.values());
            assertEquals(1, values.size(), "a mix of runs: " + values);
            seen.addAll(values);
            return seen.size() == 2;
          });
    } finally {
      stop.set(true);
      swapper.join();
    }
    assertEquals(
        Set.of(
            "{\"status\":\"normal\"}",
            "{\"status\":\"filtered\",\"reason\":\"hate_speech\"}"),
        seen);
  }
}
