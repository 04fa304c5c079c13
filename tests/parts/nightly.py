"""Tests that `make test` leaves out, and `make nightly` has: by the beginning of their ids, with the reason."""

from __future__ import annotations

from collections.abc import Sequence

_CAMPAIGN = "a campaign: many rounds, in which processes are killed"
_OTHERS = "other programs, which take minutes to make or to start"
_PAGE = "a page that is followed word for word, with new environments and servers"
_SERVERS = "several servers of its own, one after another"
_PROCESSES = "several processes with a Spark of their own, one after another"
_LAYOUTS = "many layouts, which tests/unit/test_compare.py has, too"
NIGHTLY = {
    "tests/broker/test_airbyte.py": _OTHERS,
    "tests/broker/test_binlog_alone.py::test_i9_a_crash_after_each_event": _CAMPAIGN,
    "tests/broker/test_compare.py::test_each_layout": _LAYOUTS,
    "tests/broker/test_compare.py::test_it_is_equal_while": _CAMPAIGN,
    "tests/broker/test_conduit.py": _OTHERS,
    "tests/broker/test_continued_connector.py": _OTHERS,
    "tests/broker/test_cuts.py": _PROCESSES,
    "tests/broker/test_debezium_topics.py": _OTHERS,
    "tests/broker/test_failover.py": _SERVERS,
    "tests/broker/test_fuzzed_job.py": _CAMPAIGN,
    "tests/broker/test_kafka_access.py": _SERVERS,
    "tests/broker/test_kafka_source.py::test_a_cycle_that_is_sent_again": _PROCESSES,
    "tests/broker/test_kafka_source.py::test_exactly_once_over_a_kill": _PROCESSES,
    "tests/broker/test_kafka_versions.py": _SERVERS,
    "tests/broker/test_list_source.py": _PROCESSES,
    "tests/broker/test_migration.py": _OTHERS,
    "tests/broker/test_msk_iam.py": _SERVERS,
    "tests/broker/test_postgres_failover.py": _SERVERS,
    "tests/broker/test_production_page.py": _PAGE,
    "tests/broker/test_python_api.py::test_each_change_is_sent_once": _PROCESSES,
    "tests/broker/test_quickstart.py": _PAGE,
    "tests/broker/test_refresh.py::test_a_refresh_that_was_cut_off": _PROCESSES,
    "tests/broker/test_refresh.py::test_a_terminal_shows": _PROCESSES,
    "tests/broker/test_replaced_connector.py": _OTHERS,
    "tests/broker/test_secured_cluster.py": _SERVERS,
    "tests/broker/test_three_ways.py": _SERVERS,
    "tests/broker/test_tutorial.py": _PAGE,
    "tests/faults/test_campaign.py": _CAMPAIGN,
    "tests/faults/test_capture_campaign.py::test_i9": _CAMPAIGN,
    "tests/faults/test_daemon.py::test_a_daemon_with_start_times": _PROCESSES,
    "tests/faults/test_daemon.py::test_a_worker_is_kept": _PROCESSES,
    "tests/faults/test_daemon.py::test_kill_minus_nine": _CAMPAIGN,
    "tests/faults/test_daemon.py::test_new_files": _PROCESSES,
    "tests/faults/test_daemon.py::test_the_daemon_outlives": _PROCESSES,
    "tests/faults/test_failover_campaign.py": _CAMPAIGN,
    "tests/faults/test_failures.py": _SERVERS,
    "tests/faults/test_live_postgres.py": _CAMPAIGN,
    "tests/faults/test_long_transaction.py": "gigabytes",
    "tests/faults/test_many_channels.py": _CAMPAIGN,
    "tests/faults/test_resolved_campaign.py": _CAMPAIGN,
    "tests/faults/test_restarts.py": _CAMPAIGN,
    "tests/faults/test_restored_states.py::test_each_change_comes_once": _CAMPAIGN,
    "tests/faults/test_spark_cluster.py": _SERVERS,
    "tests/faults/test_state_damage.py": _CAMPAIGN,
    "tests/faults/test_topics_campaign.py": _CAMPAIGN,
}


def left_out(ids: Sequence[str]) -> set[str]:
    """Return the ids of tests that are for the night."""
    return {one for one in ids if one.startswith(tuple(NIGHTLY))}
