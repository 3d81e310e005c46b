import java.nio.file.Files;
import java.nio.file.Paths;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** Runs commands of mqadmin, a line of a file each with tabs between the arguments; prints a line before each. */
public final class Script {
    public static void main(String[] args) throws Exception {
        System.setErr(System.out);
        for (String line : Files.readAllLines(Paths.get(args[0]))) {
            System.out.println(args[1]);
            MQAdminStartup.main0(line.split("\t"), null);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
