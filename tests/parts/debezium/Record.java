import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Debezium's change events of a PostgreSQL database, as Kafka Connect's JSON converter writes them: a record's value is a
 * line of one file (null for a tombstone), its topic and key, with a tab between them, the same line of another.
 *
 * <p>Record VALUES KEYS HOST PORT DATABASE [name=value ...], where the names are Debezium's properties; those that begin with
 * "record." are this program's own. It ends at a logical message whose key has record.end (which is not written; default
 * "end-of-recording"), and with exit code 3 where nothing came for record.idle.s seconds (default 60).
 */
public class Record {
  public static void main(String[] args) throws Exception {
    Properties properties = new Properties();
    properties.setProperty("name", "record");
    properties.setProperty("connector.class", "io.debezium.connector.postgresql.PostgresConnector");
    properties.setProperty("plugin.name", "pgoutput");
    properties.setProperty("offset.storage", "org.apache.kafka.connect.storage.MemoryOffsetBackingStore");
    properties.setProperty("offset.flush.interval.ms", "1000");
    properties.setProperty("database.hostname", args[2]);
    properties.setProperty("database.port", args[3]);
    properties.setProperty("database.dbname", args[4]);
    for (int i = 5; i < args.length; i++) {
      int at = args[i].indexOf('=');
      properties.setProperty(args[i].substring(0, at), args[i].substring(at + 1));
    }
    String end = "\"" + properties.getProperty("record.end", "end-of-recording") + "\"";
    long idle = TimeUnit.SECONDS.toNanos(Long.parseLong(properties.getProperty("record.idle.s", "60")));
    properties.keySet().removeIf(name -> name.toString().startsWith("record."));

    CountDownLatch done = new CountDownLatch(1);
    AtomicLong last = new AtomicLong(System.nanoTime());
    AtomicReference<Throwable> failure = new AtomicReference<>();
    int code = 0;
    try (PrintWriter values = new PrintWriter(args[0], StandardCharsets.UTF_8);
        PrintWriter keys = new PrintWriter(args[1], StandardCharsets.UTF_8)) {
      DebeziumEngine<ChangeEvent<String, String>> engine =
          DebeziumEngine.create(Json.class)
              .using(properties)
              .using(
                  (success, message, error) -> {
                    if (!success) {
                      failure.compareAndSet(null, error != null ? error : new IllegalStateException(message));
                    }
                    done.countDown();
                  })
              .notifying(
                  (List<ChangeEvent<String, String>> events, DebeziumEngine.RecordCommitter<ChangeEvent<String, String>> committer) -> {
                    for (ChangeEvent<String, String> event : events) {
                      if (event.destination().endsWith(".message") && event.key() != null && event.key().contains(end)) {
                        done.countDown();
                      }
                      if (done.getCount() > 0) {
                        values.print(event.value() + "\n");
                        keys.print(event.destination() + "\t" + event.key() + "\n");
                      }
                      committer.markProcessed(event);
                    }
                    committer.markBatchFinished();
                    last.set(System.nanoTime());
                  })
              .build();
      ExecutorService executor = Executors.newSingleThreadExecutor();
      executor.execute(engine);
      while (!done.await(200, TimeUnit.MILLISECONDS)) {
        if (System.nanoTime() - last.get() > idle) {
          System.err.println("nothing came any more, and there was no " + end);
          code = 3;
          break;
        }
      }
      if (failure.get() == null) {
        engine.close();
      }
      executor.shutdown();
      executor.awaitTermination(30, TimeUnit.SECONDS);
      if (values.checkError() | keys.checkError()) {
        throw new IllegalStateException("the files cannot be written");
      }
    }
    if (failure.get() != null) {
      failure.get().printStackTrace();
      code = 1;
    }
    System.exit(code);
  }
}
