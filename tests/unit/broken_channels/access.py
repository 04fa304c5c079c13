"""Mistakes in access to Kafka, and in the properties of its client."""

from tests.unit.broken_channels.contract import broken
from tests.unit.broken_channels.edits import SCRAM, kafka, variable

CASES = [
    broken(
        "a method that cannot be read, with its user",
        kafka("Kafka_Authentication_Method: [SCRAM-SHA-512]", "Stream_User: me", "Stream_Password: pw"),
        "11: $.locations.kaf.Kafka_Authentication_Method: ['SCRAM-SHA-512'] is not one of …'SCRAM-SHA-256', 'SCRAM-SHA-512', …",
        ("[SCRAM-SHA-512]", "SCRAM-SHA-512"),
    ),
    broken(
        "a user without a password",
        kafka("Kafka_Authentication_Method: USER_PASS", "Stream_User: me"),
        "11: $.locations.kaf.Kafka_Authentication_Method: USER_PASS needs Stream_Password beside it",
        ("Stream_User: me", "Stream_User: me\n    Stream_Password: pw"),
    ),
    broken(
        "a method is misspelled",
        kafka("Kafka_Authentication_Method: SCRAM-SHA512", *SCRAM[1:]),
        "11: $.locations.kaf.Kafka_Authentication_Method: 'SCRAM-SHA512' is not one of 'NONE', 'USER_PASS', 'KERBEROS', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER' or 'AWS_MSK_IAM'; do you mean SCRAM-SHA-512?",
        ("SCRAM-SHA512", "SCRAM-SHA-512"),
    ),
    broken(
        "a method of Java's",
        kafka("Kafka_Authentication_Method: PLAIN", *SCRAM[1:]),
        "11: $.locations.kaf.Kafka_Authentication_Method: 'PLAIN' is not one of 'NONE', 'USER_PASS', 'KERBEROS', 'SCRAM-SHA-256'…Kafka's sasl.mechanism: use USER_PASS",
        ("PLAIN", "USER_PASS"),
    ),
    broken(
        "a user without a method",
        kafka(*SCRAM[1:]),
        [
            "11: $.locations.kaf.Stream_User: does nothing with Kafka_Authentication_Method NONE; it is for USER_PASS, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER",
            "12: $.locations.kaf.Stream_Password: does nothing with Kafka_Authentication_Method NONE; it is for USER_PASS, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER",
        ],
        ("    Stream_User: me", "    Kafka_Authentication_Method: USER_PASS\n    Stream_User: me"),
    ),
    broken(
        "Java's names of access",
        kafka("security.protocol: SASL_SSL", "sasl.mechanism: SCRAM-SHA-512", "sasl.username: me", "sasl.password: pw"),
        [
            "11: $.locations.kaf.security.protocol: this key, of Kafka's clients, is not known here: use Kafka_Tls: true for …SSL, and Kafka_Authentication_Method for SASL_…, of the Kafka location",
            "12: $.locations.kaf.sasl.mechanism: this key, of Kafka's clients, is not known here: use Kafka_Authentication_Method of the Kafka location",
            "13: $.locations.kaf.sasl.username: this key, of Kafka's clients, is not known here: use Stream_User of the Kafka location",
            "14: $.locations.kaf.sasl.password: this key, of Kafka's clients, is not known here: use Stream_Password of the Kafka location",
        ],
        (
            "    security.protocol: SASL_SSL\n    sasl.mechanism: SCRAM-SHA-512\n    sasl.username: me\n    sasl.password: pw\n",
            "    Kafka_Tls: true\n    Kafka_Authentication_Method: SCRAM-SHA-512\n    Stream_User: me\n    Stream_Password: pw\n",
        ),
    ),
    broken(
        "JAAS under Java's name",
        kafka(
            'sasl.jaas.config: org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="pw";'
        ),
        "11: $.locations.kaf.sasl.jaas.config: this key is not known here; do you mean Sasl_Jaas_Config?",
        ("sasl.jaas.config", "Sasl_Jaas_Config"),
    ),
    broken(
        "a certificate that is not there",
        kafka("Stream_Public_Certificate: ca.pem"),
        "11: $.locations.kaf.Stream_Public_Certificate: there is no file 'ca.pem'; a PEM file is expected, or Kafka_Tls: true where the system knows the authority",
        ("Stream_Public_Certificate: ca.pem", "Kafka_Tls: true"),
    ),
    broken(
        "a Java key store",
        kafka("ssl.truststore.location: kafka.jks"),
        "11: $.locations.kaf.ssl.truststore.location: this key, of Kafka's clients, is not known here: use Stream_Public_Certificate…where the system knows the authority",
        ("ssl.truststore.location: kafka.jks", "Kafka_Tls: true"),
    ),
    broken(
        "a property that librdkafka does not know",
        variable("lnger.ms=5;batch.sze=9"),
        [
            "28: $.actions[2].Value: HVR_KAFKA_PROPERTY: batch.sze is no property of librdkafka's; do you mean batch.size?",
            "28: $.actions[2].Value: HVR_KAFKA_PROPERTY: lnger.ms is no property of librdkafka's; do you mean linger.ms?",
        ],
        ("lnger.ms=5;batch.sze=9", "linger.ms=5;batch.size=9"),
    ),
    broken(
        "a value that librdkafka refuses",
        variable("linger.ms=5ms"),
        "28: $.actions[2].Value: HVR_KAFKA_PROPERTY: linger.ms=5ms is no number; write linger.ms=5",
        ("5ms", "5"),
    ),
    broken(
        "a property that is the location's",
        variable("bootstrap.servers=localhost:9092"),
        "28: $.actions[2].Value: HVR_KAFKA_PROPERTY: bootstrap.servers cannot be set here: use Kafka_Brokers of the Kafka location",
        ("  - {action: Environment, Name: HVR_KAFKA_PROPERTY, Value: 'bootstrap.servers=localhost:9092'}\n", ""),
    ),
    broken(
        "no acknowledgements",
        variable("acks=0"),
        "28: $.actions[2].Value: HVR_KAFKA_PROPERTY: acks=0 acknowledges nothing, so nothing could be synced; use 1 or all",
        ("acks=0", "acks=all"),
    ),
    broken(
        "properties with commas",
        variable("linger.ms=5,batch.size=9000"),
        "28: $.actions[2].Value: HVR_KAFKA_PROPERTY: linger.ms=5,batch.size=9000 is no number; properties are separated by ; and not by ,",
        (",batch", ";batch"),
    ),
    broken(
        "a password that the environment does not have",
        kafka(*SCRAM[:2], "Stream_Password: ${NOT_THERE}"),
        "13: $.locations.kaf.Stream_Password: the environment has no NOT_THERE, which ${NOT_THERE} asks for",
        ("${NOT_THERE}", "pw"),
    ),
]
