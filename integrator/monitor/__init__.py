"""Monitor: what operators and their tools see of a process over HTTP. One observer is all it is fed by.

monitor      the observer: keeps what each channel does, its counts, its last failure; status as JSON
metrics      the same for Prometheus
history      rows and latency of the last hour; plots draws them
page         the status page; server: HTTP
"""
