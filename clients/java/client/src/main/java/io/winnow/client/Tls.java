package io.winnow.client;

import io.grpc.ChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/**
 * Transport security. PEM files.
 *
 * @param caFile authorities that the server's certificate must come from; null: the system's
 * @param certFile the client's own certificate chain (mTLS), with keyFile; null: none
 * @param keyFile its private key
 * @param serverName name that the server's certificate must have; null: the address's host
 */
public record Tls(Path caFile, Path certFile, Path keyFile, String serverName) {
  public Tls {
    if ((certFile == null) != (keyFile == null)) {
      throw new IllegalArgumentException("Tls: certFile and keyFile go together");
    }
  }

  /** A server whose certificate comes from the authorities in {@code caFile}. */
  public static Tls trusting(Path caFile) {
    return new Tls(caFile, null, null, null);
  }

  ChannelCredentials credentials() {
    try {
      TlsChannelCredentials.Builder builder = TlsChannelCredentials.newBuilder();
      if (caFile != null) {
        builder.trustManager(caFile.toFile());
      }
      if (certFile != null) {
        builder.keyManager(certFile.toFile(), keyFile.toFile());
      }
      return builder.build();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
