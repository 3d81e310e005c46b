package io.github.rocketwire.spark.columns;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HostsTest {
  @ParameterizedTest
  @CsvSource({
    "10.0.0.1,10.0.0.1:9876",
    "2001:db8:0:0:0:0:0:1,[2001:db8::1]:9876",
    "0:0:0:0:0:0:0:1,[::1]:9876",
    "0:0:0:0:0:0:0:0,[::]:9876",
    "1:0:0:2:0:0:0:3,[1:0:0:2::3]:9876",
    "1:0:2:3:4:5:6:7,[1:0:2:3:4:5:6:7]:9876",
    "1:2:3:4:5:6:0:0,[1:2:3:4:5:6::]:9876"
  })
  void texts(String address, String expected) throws UnknownHostException {
    byte[] packed = InetAddress.getByName(address).getAddress();
    byte[] data = ByteBuffer.allocate(packed.length + 4).put(packed).putInt(9876).array();
    assertEquals(expected, Hosts.text(data, 0, packed.length == 16).toString());
  }
}
