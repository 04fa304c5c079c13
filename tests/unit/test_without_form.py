"""A value is null because its own type lacks it, whatever stands beside it."""

import numpy as np

from integrator import schema
from integrator.decode.dialects.pgoutput import CODING
from integrator.decode.rows.without_form import OrNull
from integrator.engine.values import Slices


def converted(kind, *texts):
    data = "".join(f'"{one}"' for one in texts).encode() + b" " * 16
    ends = np.cumsum([len(one.encode()) + 2 for one in texts])
    starts = ends - [len(one.encode()) + 2 for one in texts]
    at = Slices(starts.astype(np.int32), ends.astype(np.int32), np.zeros(len(texts), np.bool_))
    return CODING.convert(np.frombuffer(data, np.uint8), at, OrNull(kind, in_text=False))


def test_a_value_that_the_type_has_stays_beside_one_that_it_has_not():
    for kind, has, lacks in (
        (schema.Date(), "9999-12-31", "infinity"),
        (schema.Array(schema.String()), "{Infinity War,NaN}", "{{a},{b}}"),
        (schema.Time(), "23:59:59", "24:00:00"),
    ):
        alone = converted(kind, has)
        assert alone.null_count == 0
        assert converted(kind, has, lacks).is_null().to_pylist() == [False, True]
        found = converted(kind, lacks, has, lacks)
        assert found.is_null().to_pylist() == [True, False, True]
        assert found.slice(1, 1).equals(alone)
