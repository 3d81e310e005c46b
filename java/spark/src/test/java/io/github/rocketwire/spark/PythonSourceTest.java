package io.github.rocketwire.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PythonSourceTest {
  @ParameterizedTest
  @CsvSource({"3.5.9,false", "4.0.5,false", "4.1.4,false", "4.2.0,true", "4.10.0-SNAPSHOT,true", "5.0.0-preview1,true", "new,false"})
  void thePythonSourceNeeds42(String version, boolean runs) {
    assertEquals(runs, PythonSource.runsWith(version));
  }
}
