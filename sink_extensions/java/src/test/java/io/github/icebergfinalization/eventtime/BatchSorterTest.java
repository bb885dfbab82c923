package io.github.icebergfinalization.eventtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

class BatchSorterTest {

  private final Random random = new Random(17);

  @Test
  void sortsAsTheLibraryDoes() {
    sortsLikeTheLibrary(() -> random.nextInt(3_600_000));
    sortsLikeTheLibrary(() -> random.nextInt(2));
    sortsLikeTheLibrary(() -> -random.nextLong() >>> random.nextInt(63));
    sortsLikeTheLibrary(random::nextLong);
    sortsLikeTheLibrary(() -> random.nextBoolean() ? Long.MAX_VALUE : Long.MIN_VALUE + random.nextInt(3));
  }

  private void sortsLikeTheLibrary(LongSupplier values) {
    BatchSorter sorter = new BatchSorter(4096);
    for (int size : new int[] {0, 1, 2, 100, 4095, 4096}) {
      long[] batch = new long[4096];
      Arrays.setAll(batch, i -> values.getAsLong());
      long[] expected = batch.clone();
      Arrays.sort(expected, 0, size);
      sorter.sort(batch, size);
      assertThat(batch).isEqualTo(expected);
    }
  }
}
