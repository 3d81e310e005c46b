package io.github.rocketwire.testing;

import java.io.File;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/** Finds the program {@code rocketwire} on this machine. */
final class Program {
    static final String PROPERTY = "rocketwire.command";
    static final String VARIABLE = "ROCKETWIRE_COMMAND";
    private static final String NAME = "rocketwire";

    private Program() {}

    /**
     * The words that the command line begins with: those of the system property {@value #PROPERTY}, else of the
     * environment variable {@value #VARIABLE}, else the program on the PATH.
     *
     * @throws RocketwireException when there is none
     */
    static List<String> find(Properties properties, Map<String, String> environment) {
        String named = properties.getProperty(PROPERTY);
        if (named == null || named.trim().isEmpty()) {
            named = environment.get(VARIABLE);
        }
        if (named != null && !named.trim().isEmpty()) {
            return words(named.trim());
        }
        for (String folder : environment.getOrDefault("PATH", "").split(File.pathSeparator)) {
            File program = new File(folder, NAME);
            if (!folder.isEmpty() && program.isFile() && program.canExecute()) {
                return Collections.singletonList(program.getPath());
            }
        }
        throw new RocketwireException("the program " + NAME + " is not on the PATH: install it (pip install rocketwire)"
                + ", or name it by the system property " + PROPERTY + " or the environment variable " + VARIABLE
                + ", such as /opt/venv/bin/rocketwire or python3 -m rocketwire");
    }

    /** A path that may have spaces in it is one word; anything else is split at spaces. */
    private static List<String> words(String named) {
        return new File(named).isFile() ? Collections.singletonList(named) : Arrays.asList(named.split("\\s+"));
    }
}
