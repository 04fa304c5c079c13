"""librdkafka's C interface: its library, functions and structures, as rdkafka.h declares them.

The library is the one that confluent-kafka ships. The declarations are those of its version 2; others are refused.
https://docs.confluent.io/platform/current/clients/librdkafka/html/rdkafka_8h.html
"""

from __future__ import annotations

import ctypes
import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from integrator.errors import EnvironmentFault


class Record(ctypes.Structure):
    """rd_kafka_message_t."""

    _fields_ = (
        ("err", ctypes.c_int),
        ("rkt", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_void_p),
        ("len", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_len", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("private", ctypes.c_void_p),
    )


class TopicPartition(ctypes.Structure):
    """The beginning of rd_kafka_topic_partition_t."""

    _fields_ = (
        ("topic", ctypes.c_char_p),
        ("partition", ctypes.c_int32),
        ("offset", ctypes.c_int64),
        ("metadata", ctypes.c_void_p),
        ("metadata_size", ctypes.c_size_t),
    )


ARGUMENT = np.dtype(
    {
        "names": ["kind", "first", "second", "third"],
        "formats": ["<i4", "<i8", "<i8", "<i8"],
        "offsets": [0, 8, 16, 24],
        "itemsize": 72,
    }
)
"""rd_kafka_vu_t: a kind, and a union of 64 bytes: a number or an address, and what comes after it."""
RECORD = np.dtype(Record)
Records = npt.NDArray[np.void]
"""Of RECORD: what librdkafka is given of each message, with the addresses of its key and value."""
Reported = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Record), ctypes.c_void_p)
Noticed = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
Asked = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_POINTER, _INT, _TEXT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t
_VERSION = 2
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "rd_kafka_conf_new": (_POINTER, ()),
    "rd_kafka_conf_set": (_INT, (_POINTER, _TEXT, _TEXT, _TEXT, _SIZE)),
    "rd_kafka_conf_set_dr_msg_cb": (None, (_POINTER, Reported)),
    "rd_kafka_conf_set_error_cb": (None, (_POINTER, Noticed)),
    "rd_kafka_conf_set_oauthbearer_token_refresh_cb": (None, (_POINTER, Asked)),
    "rd_kafka_conf_enable_sasl_queue": (None, (_POINTER, _INT)),
    "rd_kafka_sasl_background_callbacks_enable": (_POINTER, (_POINTER,)),
    "rd_kafka_oauthbearer_set_token": (
        _INT,
        (_POINTER, _TEXT, ctypes.c_int64, _TEXT, ctypes.POINTER(_TEXT), _SIZE, _TEXT, _SIZE),
    ),
    "rd_kafka_oauthbearer_set_token_failure": (_INT, (_POINTER, _TEXT)),
    "rd_kafka_conf_destroy": (None, (_POINTER,)),
    "rd_kafka_conf_dump": (ctypes.POINTER(_TEXT), (_POINTER, ctypes.POINTER(_SIZE))),
    "rd_kafka_conf_dump_free": (None, (ctypes.POINTER(_TEXT), _SIZE)),
    "rd_kafka_topic_conf_new": (_POINTER, ()),
    "rd_kafka_topic_conf_dump": (ctypes.POINTER(_TEXT), (_POINTER, ctypes.POINTER(_SIZE))),
    "rd_kafka_topic_conf_destroy": (None, (_POINTER,)),
    "rd_kafka_new": (_POINTER, (_INT, _POINTER, _TEXT, _SIZE)),
    "rd_kafka_destroy": (None, (_POINTER,)),
    "rd_kafka_topic_new": (_POINTER, (_POINTER, _TEXT, _POINTER)),
    "rd_kafka_topic_name": (_TEXT, (_POINTER,)),
    "rd_kafka_topic_destroy": (None, (_POINTER,)),
    "rd_kafka_produce_batch": (_INT, (_POINTER, ctypes.c_int32, _INT, _POINTER, _INT)),
    "rd_kafka_produceva": (_POINTER, (_POINTER, _POINTER, _SIZE)),
    "rd_kafka_poll": (_INT, (_POINTER, _INT)),
    "rd_kafka_flush": (_INT, (_POINTER, _INT)),
    "rd_kafka_purge": (_INT, (_POINTER, _INT)),
    "rd_kafka_outq_len": (_INT, (_POINTER,)),
    "rd_kafka_metadata": (_INT, (_POINTER, _INT, _POINTER, ctypes.POINTER(_POINTER), _INT)),
    "rd_kafka_metadata_destroy": (None, (_POINTER,)),
    "rd_kafka_last_error": (_INT, ()),
    "rd_kafka_err2str": (_TEXT, (_INT,)),
    "rd_kafka_err2name": (_TEXT, (_INT,)),
    "rd_kafka_fatal_error": (_INT, (_POINTER, _TEXT, _SIZE)),
    "rd_kafka_error_string": (_TEXT, (_POINTER,)),
    "rd_kafka_error_code": (_INT, (_POINTER,)),
    "rd_kafka_error_is_retriable": (_INT, (_POINTER,)),
    "rd_kafka_init_transactions": (_POINTER, (_POINTER, _INT)),
    "rd_kafka_begin_transaction": (_POINTER, (_POINTER,)),
    "rd_kafka_commit_transaction": (_POINTER, (_POINTER, _INT)),
    "rd_kafka_abort_transaction": (_POINTER, (_POINTER, _INT)),
    "rd_kafka_send_offsets_to_transaction": (_POINTER, (_POINTER, _POINTER, _POINTER, _INT)),
    "rd_kafka_consumer_group_metadata_new": (_POINTER, (_TEXT,)),
    "rd_kafka_consumer_group_metadata_destroy": (None, (_POINTER,)),
    "rd_kafka_topic_partition_list_new": (_POINTER, (_INT,)),
    "rd_kafka_topic_partition_list_add": (ctypes.POINTER(TopicPartition), (_POINTER, _TEXT, ctypes.c_int32)),
    "rd_kafka_topic_partition_list_destroy": (None, (_POINTER,)),
    "rd_kafka_mem_malloc": (_POINTER, (_POINTER, _SIZE)),
    "rd_kafka_error_destroy": (None, (_POINTER,)),
    "rd_kafka_queue_new": (_POINTER, (_POINTER,)),
    "rd_kafka_queue_destroy": (None, (_POINTER,)),
    "rd_kafka_consume_start_queue": (_INT, (_POINTER, ctypes.c_int32, ctypes.c_int64, _POINTER)),
    "rd_kafka_consume_stop": (_INT, (_POINTER, ctypes.c_int32)),
    "rd_kafka_consume_batch_queue": (ctypes.c_ssize_t, (_POINTER, _INT, _POINTER, _SIZE)),
    "rd_kafka_message_destroy": (None, (_POINTER,)),
    "rd_kafka_message_timestamp": (ctypes.c_int64, (_POINTER, _POINTER)),
    "rd_kafka_message_headers": (_INT, (_POINTER, _POINTER)),
    "rd_kafka_header_get_all": (_INT, (_POINTER, _SIZE, _POINTER, _POINTER, _POINTER)),
    "rd_kafka_query_watermark_offsets": (
        _INT,
        (_POINTER, _TEXT, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64), _INT),
    ),
}


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """Return the librdkafka that confluent-kafka uses, its functions declared. Raises EnvironmentFault."""
    found = importlib.util.find_spec("confluent_kafka")
    if found is None or found.origin is None:
        raise EnvironmentFault(
            "confluent-kafka, whose librdkafka is used, is not installed; install its wheel from PyPI"
        )
    package = Path(found.origin).parent
    shipped = [*package.parent.glob("confluent_kafka.libs/librdkafka-*"), *package.glob(".dylibs/librdkafka*")]
    places = [*map(str, shipped), "librdkafka.so.1", "librdkafka.1.dylib"]  # built from source: the system's
    reasons = []
    for place in places:
        try:
            loaded = ctypes.CDLL(place)
            version = loaded.rd_kafka_version() >> 24  # 0xMMmmrrpp
            if version != _VERSION:
                reasons.append(f"{place} has the version {version}; {_VERSION} is needed")
                continue
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(loaded, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as error:
            reasons.append(str(error))
        else:
            return loaded
    raise EnvironmentFault(
        f"confluent-kafka's librdkafka is not found ({'; '.join(reasons)}); install its wheel from PyPI"
    )
