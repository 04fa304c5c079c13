"""Libraries of extras: `check` says which extra has one that is missing, and loads none that a channel does not need."""

import subprocess
import sys

import pytest

FILES = "src: {class: files, path: changes, dialect: debezium}"
KAFKA = 'kaf: {class: kafka, Kafka_Brokers: ["127.0.0.1:1"], Kafka_Default_Topic: "{hvr_tbl_name}"'
IAM = "Kafka_Authentication_Method: AWS_MSK_IAM, Kafka_Aws_Region: eu-west-1, Kafka_Tls: true"
SQL = 'actions:\n  - {action: ColumnProperties, Name: id, IntegrateExpression: "sql: id + 1"}\n'
LIBRARIES = ("aws_msk_iam_sasl_signer", "datafusion", "psycopg2", "pymysql")
NEEDED = {
    "postgres": ("psycopg2", "src: {class: postgres, address: postgresql://u@127.0.0.1:1/d}", KAFKA, ""),
    "mysql": ("pymysql", "src: {class: mysql, address: mysql://u@127.0.0.1:1/d}", KAFKA, ""),
    "sql": ("datafusion", FILES, KAFKA, SQL),
    "aws": ("aws_msk_iam_sasl_signer", FILES, f"{KAFKA}, {IAM}", ""),
}


def check(tmp_path, source, target, rest, hidden=()):
    (tmp_path / "changes").mkdir()
    (tmp_path / "tables.sql").write_text("create table customers(id int primary key);")
    tables = "" if "address" in source else "tables: [tables.sql]\n"
    text = f"channel: c\nstate: state\nlocations:\n  {source}\n  {target}}}\n{tables}{rest}"
    (tmp_path / "channel.yaml").write_text(text)
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({hidden})); sys.argv = ['integrator', 'check', '--channel', 'channel.yaml']\n"
        "from integrator.cli.main import main\n"
        f"code = main(); print([name for name in {(*LIBRARIES, 'pyspark')} if sys.modules.get(name)]); sys.exit(code)"
    )
    return subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("extra", NEEDED)
def test_check_says_which_extra_has_what_is_missing(extra, tmp_path):
    library, *channel = NEEDED[extra]
    done = check(tmp_path, *channel, hidden=(library,))
    assert done.returncode == 5, done.stderr
    assert f"pip install 'integrator[{extra}]'" in " ".join(done.stderr.split())
    assert library in done.stderr


def test_a_channel_without_need_of_them_loads_none_of_them(tmp_path):
    done = check(tmp_path, FILES, KAFKA, "", hidden=LIBRARIES)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[]"), done.stdout + done.stderr
