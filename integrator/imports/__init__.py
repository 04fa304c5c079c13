"""`import`: channels from other products' configurations.

draft          what a channel is made of, and its text; checked as it is written
report         what is to be done, what differs, and what is ignored
producer       properties of Kafka's Java producer
airbyte        destination-kafka
debezium       Debezium's connectors in Kafka Connect; debezium_… are the parts of their configuration
hvr            HVR's definitions; hvr_… are their forms, types, actions, and what is left out of them
connect_file   Kafka Connect's files
"""
