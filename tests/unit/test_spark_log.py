"""Of what Spark's JVM writes, the log has what nobody else reports, a line each."""

from integrator.run.spark.jvm_log import worth_reading

WRITTEN = """\
WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
26/11/24 11:24:35 WARN Utils: Your hostname, vm, resolves to a loopback address
Setting Spark log level to "ERROR".
26/11/24 11:25:00 ERROR Executor: Exception in task 0.0 in stage 3.0 (TID 3)
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "first_pass.py", line 47, in run
RuntimeError: the first pass
EOFError
\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
Caused by: java.io.EOFException
\t... 22 more
26/11/24 11:25:00 ERROR TaskSetManager: Task 0 in stage 3.0 failed 1 times; aborting job

26/11/24 11:25:01 ERROR TaskSchedulerImpl: Lost executor 1 on 127.0.0.1: worker lost
java.lang.OutOfMemoryError: Java heap space
No space left on device
"""


def test_what_comes_as_an_exception_is_not_shown_twice() -> None:
    assert list(worth_reading(WRITTEN.splitlines(keepends=True))) == [
        ("error", "TaskSchedulerImpl", "Lost executor 1 on 127.0.0.1: worker lost"),
        ("error", "", "java.lang.OutOfMemoryError: Java heap space"),
        ("warning", "", "No space left on device"),
    ]


def test_a_line_is_cut() -> None:
    assert [len(text) for _, _, text in worth_reading(["x" * 1000 + "\n"])] == [300]
