"""What people and supervisors see of a channel.

progress, heartbeat          the log; a file that is touched while the process lives
failure, failures            the last failure, and what records it
observer                     what the status page receives
"""
