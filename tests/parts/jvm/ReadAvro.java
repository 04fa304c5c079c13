import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.file.SeekableByteArrayInput;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/**
 * What Apache Avro for Java reads, logical types left as they are stored: a line is the schema (or "file") and the data,
 * each in base64; the answer is the record as JSON, bytes in hex. A datum must be read to its last byte.
 */
public class ReadAvro {
  public static void main(String[] args) throws Exception {
    ObjectMapper json = new ObjectMapper();
    Map<String, Schema> schemas = new HashMap<>();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] parts = line.split(" ", -1);
      byte[] data = Base64.getDecoder().decode(parts[1]);
      GenericRecord record;
      if (parts[0].equals("file")) {
        try (DataFileReader<GenericRecord> file =
            new DataFileReader<>(new SeekableByteArrayInput(data), new GenericDatumReader<>())) {
          record = file.next();
          if (file.hasNext()) throw new IllegalStateException("more than one record in a message");
        }
      } else {
        Schema schema = schemas.computeIfAbsent(parts[0], text ->
            new Schema.Parser().parse(new String(Base64.getDecoder().decode(text), java.nio.charset.StandardCharsets.UTF_8)));
        BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(data, null);
        record = new GenericDatumReader<GenericRecord>(schema).read(null, decoder);
        if (!decoder.isEnd()) throw new IllegalStateException("bytes are left behind the record");
      }
      System.out.println(json.writeValueAsString(plain(record)));
    }
  }

  private static Object plain(Object value) {
    if (value instanceof GenericRecord record) {
      Map<String, Object> fields = new LinkedHashMap<>();
      for (Schema.Field field : record.getSchema().getFields()) fields.put(field.name(), plain(record.get(field.pos())));
      return fields;
    }
    if (value instanceof ByteBuffer bytes) {
      byte[] copy = new byte[bytes.remaining()];
      bytes.duplicate().get(copy);
      return HexFormat.of().formatHex(copy);
    }
    if (value instanceof GenericFixed fixed) return HexFormat.of().formatHex(fixed.bytes());
    if (value instanceof List<?> items) {
      List<Object> plain = new ArrayList<>();
      for (Object item : items) plain.add(plain(item));
      return plain;
    }
    if (value instanceof CharSequence text) return text.toString();
    return value;
  }
}
