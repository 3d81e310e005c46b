package io.github.rocketwire.spark.cache;

import java.io.IOException;

/** Columns beside a store cannot be used for it; the text has the reason. */
public final class Unfit extends IOException {
  private static final long serialVersionUID = 1;

  public Unfit(String why) {
    super(why);
  }
}
