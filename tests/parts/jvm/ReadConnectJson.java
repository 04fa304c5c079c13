import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * What Kafka's own JsonConverter sees in messages: base64 of a message a line on stdin, JSON of what it is on stdout.
 * A struct becomes {"field": [connect type, schema name, value as text], ...}; a field that its schema has not is not there.
 */
public class ReadConnectJson {
  public static void main(String[] args) throws Exception {
    JsonConverter converter = new JsonConverter();
    converter.configure(Map.of("schemas.enable", "true"), args.length > 0 && args[0].equals("key"));
    ObjectMapper json = new ObjectMapper();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      SchemaAndValue read = converter.toConnectData("topic", Base64.getDecoder().decode(line));
      if (read.value() instanceof Struct struct) {
        struct.validate();
        Map<String, Object> fields = new LinkedHashMap<>();
        for (Field field : struct.schema().fields()) {
          fields.put(field.name(), describe(field.schema(), struct.get(field)));
        }
        System.out.println(json.writeValueAsString(fields));
      } else {
        System.out.println(json.writeValueAsString(describe(read.schema(), read.value())));
      }
    }
  }

  private static List<Object> describe(Schema schema, Object value) {
    List<Object> described = new ArrayList<>();
    described.add(schema.type().getName());
    described.add(schema.name());
    described.add(text(schema, value));
    return described;
  }

  private static Object text(Schema schema, Object value) {
    if (value == null) return null;
    if (value instanceof BigDecimal number) return number.toPlainString();
    if (value instanceof java.util.Date date) return Long.toString(date.getTime());
    if (value instanceof ByteBuffer bytes) return HexFormat.of().formatHex(bytes.array());
    if (value instanceof byte[] bytes) return HexFormat.of().formatHex(bytes);
    if (value instanceof List<?> items) {
      List<Object> texts = new ArrayList<>();
      for (Object item : items) texts.add(text(schema.valueSchema(), item));
      return texts;
    }
    if (value instanceof Struct struct) {
      Map<String, Object> fields = new LinkedHashMap<>();
      for (Field field : struct.schema().fields()) fields.put(field.name(), text(field.schema(), struct.get(field)));
      return fields;
    }
    return value.toString();
  }
}
