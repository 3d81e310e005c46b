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

/** Which program is started, and what is said when that fails. */
class StartFailureTest {
    private static String failure(RocketwireServer.Builder settings) {
        return assertThrows(RocketwireException.class, settings::start).getMessage();
    }

    @Test
    void whatTheProgramSaidIsInTheException() {
        String said = failure(RocketwireServer.builder().set("brokerNmae", "b"));
        assertTrue(said.contains("ended with code 2"), said);
        assertTrue(said.contains("--set brokerNmae: unknown key; did you mean brokerName?"), said);
    }

    @Test
    void aProgramThatIsNotThereIsNamed() {
        String said = failure(RocketwireServer.builder().command("/no/such/rocketwire"));
        assertTrue(said.startsWith("cannot start /no/such/rocketwire: "), said);
    }

    @Test
    void aProgramThatDoesNotGetReadyIsEnded(@TempDir Path folder) throws Exception {
        Path pid = folder.resolve("pid");
        String said = failure(RocketwireServer.builder()
                .command("sh", "-c", "echo $$ > '" + pid + "'; echo thinking >&2; exec sleep 600")
                .startTimeout(Duration.ofSeconds(3)));
        assertTrue(said.contains("was not ready within 3 s: thinking"), said);
        assertFalse(new File("/proc/" + new String(Files.readAllBytes(pid)).trim()).exists());
    }

    @Test
    void aProgramThatPrintsSomethingElseIsNotTakenForAnEndpoint() {
        String said = failure(RocketwireServer.builder().command("sh", "-c", "echo hello; exec sleep 600"));
        assertTrue(said.contains("not the JSON that was expected"), said);
        assertTrue(said.endsWith("hello"), said);
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
    void withoutAProgramTheWaysToNameOneAreSaid() {
        Map<String, String> environment = Collections.singletonMap("PATH", "/no/such/folder");
        String said = assertThrows(RocketwireException.class, () -> Program.find(new Properties(), environment))
                .getMessage();
        assertTrue(said.startsWith("the program rocketwire is not on the PATH"), said);
        assertTrue(said.contains("rocketwire.command") && said.contains("ROCKETWIRE_COMMAND"), said);
    }
}
