"""Dead letters of a channel that are exported, mended, and replayed, as a user does it."""


def tolerant(path, topic):
    """Have a channel's rejected lines go to a dead letter topic; return its file."""
    errors = f"{{tolerance: all, deadletterqueue.topic.name: {topic}, deadletterqueue.topic.replication.factor: 1}}"
    path.write_text(f"{path.read_text()}errors: {errors}\n")
    return path


def replay_mended(command, spark, path, wrong, right):
    """Export the letters of a channel, replace a text in them, and replay them; return the lines as they were."""
    letters = path.with_name("letters.txt")
    exported = command("replay", "--channel", path, "--export", letters, spark=spark)
    assert exported.code == 0, exported.err
    text = letters.read_text()
    letters.write_text(text.replace(wrong, right))
    done = command("replay", "--channel", path, "--file", letters, spark=spark)
    assert done.code == 0, done.err
    return text.splitlines()
