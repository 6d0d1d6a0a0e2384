package io.winnow.example;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** A Redis of a test's own, which keeps nothing. */
final class RedisProcess implements AutoCloseable {
  private final Process process;
  private final int port;

  RedisProcess() throws Exception {
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
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (true) {
      try (Jedis client = connect()) {
        client.ping();
        return;
      } catch (JedisConnectionException notYet) {
        if (System.nanoTime() > deadline || !process.isAlive()) {
          process.destroyForcibly();
          throw notYet;
        }
        Thread.sleep(20); // between two looks
      }
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
