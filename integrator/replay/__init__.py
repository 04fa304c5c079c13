"""Dead letters, sent through their channel again: read from their topic, mended in a file, given back as change files.

letters   what the dead letter topic has, and which of it was replayed
transactions  what a letter needs above it to have a position
exported  letters as a text file in which people mend them
trial     what a replay would do, and where it would come too late
job       the replay: a run of the channel beside its own, with change files and progress of its own
"""
