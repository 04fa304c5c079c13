import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

/**
 * What a converter of Kafka Connect's sees in values, or in headers: base64 of one a line on stdin, or null; on stdout
 * [connect type, schema name, value as text].
 */
public class ReadConnectValues {
  public static void main(String[] args) throws Exception {
    Object converter = Class.forName(args[0]).getDeclaredConstructor().newInstance();
    boolean header = args.length > 1;
    if (header) {
      ((HeaderConverter) converter).configure(Map.of("converter.type", "header"));
    } else {
      ((Converter) converter).configure(Map.of(), false);
    }
    ObjectMapper json = new ObjectMapper();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      byte[] data = line.equals("null") ? null : Base64.getDecoder().decode(line);
      SchemaAndValue read =
          header
              ? ((HeaderConverter) converter).toConnectHeader("topic", "header", data)
              : ((Converter) converter).toConnectData("topic", data);
      List<Object> described = new ArrayList<>();
      described.add(read.schema() == null ? null : read.schema().type().getName());
      described.add(read.schema() == null ? null : read.schema().name());
      Object value = read.value();
      described.add(value instanceof byte[] bytes ? HexFormat.of().formatHex(bytes) : value == null ? null : value.toString());
      System.out.println(json.writeValueAsString(described));
    }
  }
}
