package io.github.rocketwire.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which program is started, and the error when that fails. */
class StartFailureTest {
    private static String failure(RocketwireServer.Builder settings) {
        return assertThrows(RocketwireException.class, settings::start).getMessage();
    }

    @Test
    void theOutputOfTheProgramIsInTheException() {
        String message = failure(RocketwireServer.builder().set("brokerNmae", "b"));
        assertTrue(message.contains("ended with code 2"), message);
        assertTrue(message.contains("--set brokerNmae: unknown key; did you mean brokerName?"), message);
    }

    @Test
    void aProgramThatIsNotThereIsNamed() {
        String message = failure(RocketwireServer.builder().command("/no/such/rocketwire"));
        assertTrue(message.startsWith("cannot start /no/such/rocketwire: "), message);
    }

    @Test
    void aProgramThatDoesNotGetReadyIsEnded(@TempDir Path folder) throws Exception {
        Path pid = folder.resolve("pid");
        String message = failure(RocketwireServer.builder()
                .command("sh", "-c", "echo $$ > '" + pid + "'; echo thinking >&2; exec sleep 600")
                .startTimeout(Duration.ofSeconds(3)));
        assertTrue(message.contains("was not ready within 3 s: thinking"), message);
        assertFalse(new File("/proc/" + new String(Files.readAllBytes(pid)).trim()).exists());
    }

    @Test
    void aProgramThatPrintsSomethingElseIsNotTakenForAnEndpoint() {
        String message = failure(RocketwireServer.builder().command("sh", "-c", "echo hello; exec sleep 600"));
        assertTrue(message.contains("not the JSON that was expected"), message);
        assertTrue(message.endsWith("hello"), message);
    }

    @Test
    void thePropertyComesBeforeTheVariableAndThatBeforeThePath(@TempDir Path folder) throws IOException {
        Path program = Files.createFile(folder.resolve("rocketwire"));
        assertTrue(program.toFile().setExecutable(true));
        Properties properties = new Properties();
        Map<String, String> environment = new HashMap<>();
        environment.put("PATH", "/no/such/folder" + File.pathSeparator + folder);
        assertEquals(Collections.singletonList(program.toString()), Program.find(properties, environment));
        environment.put("ROCKETWIRE_COMMAND", "python3 -m  rocketwire");
        assertEquals(Arrays.asList("python3", "-m", "rocketwire"), Program.find(properties, environment));
        Path spaced = Files.createFile(folder.resolve("with a space"));
        properties.setProperty("rocketwire.command", spaced.toString());
        assertEquals(Collections.singletonList(spaced.toString()), Program.find(properties, environment));
    }

    @Test
    void withoutAProgramTheErrorListsTheWaysToNameOne() {
        Map<String, String> environment = Collections.singletonMap("PATH", "/no/such/folder");
        String message = assertThrows(RocketwireException.class, () -> Program.find(new Properties(), environment))
                .getMessage();
        assertTrue(message.startsWith("the program rocketwire is not on the PATH"), message);
        assertTrue(message.contains("rocketwire.command") && message.contains("ROCKETWIRE_COMMAND"), message);
    }
}
