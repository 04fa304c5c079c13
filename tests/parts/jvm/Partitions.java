import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Base64;
import org.apache.kafka.common.utils.Utils;

/** The partition that a Java producer gives a key: base64 of a key a line on stdin; the argument is how many there are. */
public class Partitions {
  public static void main(String[] args) throws Exception {
    int partitions = Integer.parseInt(args[0]);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      System.out.println(Utils.toPositive(Utils.murmur2(Base64.getDecoder().decode(line))) % partitions);
    }
  }
}
