"""Lines through sockets: checked, spooled as change files, and read from there until no kept cycle needs them.

receiver, connection, handshake, incoming, endpoint   the connections
line_gate                                             which lines are accepted
"""
