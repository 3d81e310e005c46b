package filter;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.filter.FilterFactory;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.Expression;

/**
 * Apache's SQL92 filter, called from outside. Standard input: a count of property texts and the texts, a count of
 * expressions and the expressions, each text behind its length in bytes (int). Standard output: a line an expression,
 * one letter a property
 * text: T true, F false, N null, X exception, ? another result; or ! and what the parser says, its line ends as tabs.
 */
public final class Evaluate {
    private Evaluate() {
    }

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        List<Map<String, String>> properties = new ArrayList<>();
        for (String text : texts(in)) {
            properties.add(MessageDecoder.string2messageProperties(text));
        }
        List<String> expressions = texts(in);
        StringBuilder lines = new StringBuilder();
        for (String expression : expressions) {
            lines.append(results(expression, properties)).append('\n');
        }
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        out.print(lines);
        out.flush();
    }

    private static String results(String text, List<Map<String, String>> properties) {
        Expression expression;
        try {
            expression = FilterFactory.INSTANCE.get("SQL92").compile(text);
        } catch (Exception refused) {
            return "!" + String.valueOf(refused.getMessage()).replaceAll("\\R", "\t");
        }
        StringBuilder letters = new StringBuilder();
        for (Map<String, String> each : properties) {
            letters.append(letter(expression, each));
        }
        return letters.toString();
    }

    private static char letter(Expression expression, Map<String, String> properties) {
        Object result;
        try {
            result = expression.evaluate(new Properties(properties));
        } catch (Exception problem) {
            return 'X';
        }
        if (result == null) {
            return 'N';
        }
        return result instanceof Boolean ? (Boolean) result ? 'T' : 'F' : '?';
    }

    private static List<String> texts(DataInputStream in) throws IOException {
        List<String> texts = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            byte[] bytes = new byte[in.readInt()];
            in.readFully(bytes);
            texts.add(StandardCharsets.UTF_8.decode(ByteBuffer.wrap(bytes)).toString());
        }
        return texts;
    }

    private static final class Properties implements EvaluationContext {
        private final Map<String, String> values;

        Properties(Map<String, String> values) {
            this.values = values;
        }

        @Override
        public Object get(String name) {
            return values.get(name);
        }

        @Override
        public Map<String, Object> keyValues() {
            return Map.copyOf(values);
        }
    }
}
