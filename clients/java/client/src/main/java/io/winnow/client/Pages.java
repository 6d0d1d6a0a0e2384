package io.winnow.client;

import io.grpc.Status.Code;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * A list as a plain iterable: pages are read as they are needed, anew by each iterator.
 *
 * @param <T> element
 */
public final class Pages<T> implements Iterable<T> {
  /**
   * One page.
   *
   * @param elements its elements; a page may be short, or empty, in the middle
   * @param nextToken token of the next page; empty at the end, and only there
   */
  record Page<T>(List<T> elements, String nextToken) {}

  private final Function<String, Page<T>> fetch;
  private final String firstToken;

  Pages(String firstToken, Function<String, Page<T>> fetch) {
    this.firstToken = firstToken;
    this.fetch = fetch;
  }

  /** The same as a stream. */
  public Stream<T> stream() {
    return StreamSupport.stream(spliterator(), false);
  }

  @Override
  public Iterator<T> iterator() {
    return new Reader();
  }

  private final class Reader implements Iterator<T> {
    private Iterator<T> page = List.<T>of().iterator();
    private String token = firstToken;
    private boolean ended;

    @Override
    public boolean hasNext() {
      while (!page.hasNext() && !ended) {
        Page<T> next = fetch.apply(token);
        page = next.elements().iterator();
        ended = next.nextToken().isEmpty();
        if (!ended && next.nextToken().equals(token)) {
          throw WinnowException.of(
              Code.INTERNAL, "the server answered the page token that it was sent: no progress");
        }
        token = next.nextToken();
      }
      return page.hasNext();
    }

    @Override
    public T next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return page.next();
    }
  }
}
