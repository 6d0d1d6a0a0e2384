package io.winnow.example;

import java.io.IOException;
import java.net.ServerSocket;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** A Redis of a test's own, which keeps nothing. */
final class RedisProcess implements AutoCloseable {
  private static final int TRIES = 10;

  private Process process;
  private int port;

  RedisProcess() throws Exception {
    for (int tries = 0; tries < TRIES; ++tries) {
      if (starts()) {
        return;
      }
    }
    throw new IOException("redis-server does not start");
  }

  /** False if another process took the port before Redis did. */
  private boolean starts() throws Exception {
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    process =
        new ProcessBuilder(
                "redis-server", "--port", Integer.toString(port), "--bind", "127.0.0.1",
                "--save", "", "--appendonly", "no", "--dir", "/tmp")
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    Await.until("Redis answers or has ended", () -> answers() || !process.isAlive());
    return process.isAlive();
  }

  private boolean answers() {
    try (Jedis client = connect()) {
      client.ping();
      return true;
    } catch (JedisConnectionException notYet) {
      return false;
    }
  }

  Jedis connect() {
    return new Jedis("127.0.0.1", port);
  }

  String url() {
    return "redis://127.0.0.1:" + port;
  }

  @Override
  public void close() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }
}
