// What a Node consumer reads of a topic from its beginning: node consume.js BROKERS REGISTRY FORMAT TOPIC COUNT
// prints one JSON line a message: {"key": …, "value": …, "headers": {…}}, by Confluent's deserializers.
const { Kafka, logLevel } = require("kafkajs");
const sr = require("@confluentinc/schemaregistry");

const [brokers, url, format, topic, count] = process.argv.slice(2);
const client = new sr.SchemaRegistryClient({ baseURLs: [url] });
const makers = {
  AVRO: (part) => new sr.AvroDeserializer(client, part, {}),
  JSON: (part) => new sr.JsonDeserializer(client, part, {}),
  PROTOBUF: (part) => new sr.ProtobufDeserializer(client, part, {}),
};
const keys = makers.AVRO(sr.SerdeType.KEY);
const values = makers[format](sr.SerdeType.VALUE);
let left = Number(count);
const plain = (_, value) =>
  typeof value === "bigint" ? value.toString() : value && value.type === "Buffer" ? Buffer.from(value.data).toString("hex") : value;

async function main() {
  const kafka = new Kafka({ brokers: brokers.split(","), logLevel: logLevel.ERROR });
  const consumer = kafka.consumer({ groupId: "integrator-tests-" + process.pid });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });

  await new Promise((resolve) =>
    consumer.run({
      eachMessage: async ({ message }) => {
        try {
          const headers = Object.fromEntries(Object.entries(message.headers || {}).map(([k, v]) => [k, String(v)]));
          const key = message.key && (await keys.deserialize(topic, message.key));
          const value = message.value && (await values.deserialize(topic, message.value));
          console.log(JSON.stringify({ key, value, headers }, plain));
          if (--left === 0) resolve();
        } catch (error) {
          console.error(error);
          process.exit(1);
        }
      },
    }),
  );
  await consumer.disconnect();
}

process.on("exit", (code) => code || !left || console.error("ended early", left));
main().catch((error) => {
  console.error(error);
  process.exit(1);
});
