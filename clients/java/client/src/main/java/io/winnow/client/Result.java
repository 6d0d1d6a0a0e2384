package io.winnow.client;

/**
 * What became of one element of a batch or stream: elements fail alone.
 *
 * @param <T> what a success holds
 */
public sealed interface Result<T> {
  /** It worked. */
  record Ok<T>(T value) implements Result<T> {}

  /** It was refused; the rest of the batch was not. */
  record Failed<T>(WinnowException error) implements Result<T> {}

  /** The value, or its error thrown. */
  default T get() {
    if (this instanceof Ok<T> ok) {
      return ok.value();
    }
    throw ((Failed<T>) this).error();
  }

  /** Whether it worked. */
  default boolean ok() {
    return this instanceof Ok<T>;
  }
}
