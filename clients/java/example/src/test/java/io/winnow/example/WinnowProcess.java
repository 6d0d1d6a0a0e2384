package io.winnow.example;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The built server as a child process on a free port, with a data directory of its own. */
final class WinnowProcess implements AutoCloseable {
  private static final Pattern READY = Pattern.compile("127\\.0\\.0\\.1:(\\d+)");

  private final Process process;
  private final Path dataDir;
  private final String address;

  WinnowProcess() throws IOException {
    this("");
  }

  /** With more settings: members of the configuration's object, each with a comma before it. */
  WinnowProcess(String settings) throws IOException {
    String binary = System.getenv("WINNOW_BINARY");
    if (binary == null || !Files.isExecutable(Path.of(binary))) {
      throw new IllegalStateException("set WINNOW_BINARY to a built winnow, e.g. by ./x build");
    }
    dataDir = Files.createTempDirectory(Path.of("/tmp"), "winnow-java");
    Files.setPosixFilePermissions(dataDir, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path config = dataDir.resolve("config.json");
    Files.writeString(config, "{\"metrics\": {\"listen\": \"off\"}" + settings + "}");
    process =
        new ProcessBuilder(
                binary, "serve", "--target=all", "--listen", "127.0.0.1:0",
                "--config", config.toString(), "--data-dir", dataDir.resolve("data").toString())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    address = awaitReady();
  }

  String address() {
    return address;
  }

  private String awaitReady() throws IOException {
    BufferedReader output = process.inputReader();
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      Matcher match = READY.matcher(line);
      if (match.find()) {
        return "127.0.0.1:" + match.group(1);
      }
    }
    throw new IllegalStateException("winnow ended before it was ready");
  }

  @Override
  public void close() throws IOException, InterruptedException {
    process.destroy();
    if (!process.waitFor(60, TimeUnit.SECONDS)) {
      process.destroyForcibly().waitFor();
    }
    try (Stream<Path> files = Files.walk(dataDir)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
