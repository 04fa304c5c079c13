"""Whether the rows of a table became others, and the log has no change of them: by what the catalogue says of it.

PostgreSQL logs no row for ADD COLUMN with a default, for another type or name of a column or of what its type has, nor
for partitions that are attached, detached or truncated; and what a publication lacked is not sent. The shape of a table
is what such statements change: the oid and the transaction (xmin) of the rows of the catalogue that they write, and the
files that tables are in. It is kept with the capture, and compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from integrator.errors import EnvironmentFault
from integrator.sources.postgres.catalogue import Captured
from integrator.sources.postgres.server import Session
from integrator.sources.postgres.slot import version_of

_SHAPES = """
with recursive member(root, oid, attached) as (
  select c.oid, c.oid, '' from pg_class c where c.oid = any(%s)
  union all
  select m.root, h.inhrelid, h.xmin::text from member m join pg_inherits h on h.inhparent = m.oid
  join pg_class c on c.oid = h.inhrelid where c.relispartition),
attribute(root, number, name, type, modifier, written, generated, missing) as (
  select a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, a.xmin::text,
    coalesce(to_jsonb(a)->>'attgenerated', ''), exists (
    select from member m join pg_attribute p on p.attrelid = m.oid
    where m.root = a.attrelid and p.attname = a.attname and to_jsonb(p)->>'atthasmissing' = 'true')
  from pg_attribute a where a.attrelid = any(%s) and a.attnum > 0 and not a.attisdropped),
used(root, oid) as (
  select root, type from attribute
  union
  select u.root, inner_type.oid from used u join pg_type t on t.oid = u.oid cross join lateral (
    select t.typelem where t.typelem <> 0 union all select t.typbasetype where t.typbasetype <> 0
    union all select r.rngsubtype from pg_range r
      where t.oid in (r.rngtypid, (to_jsonb(r)->>'rngmultitypid')::oid)
    union all select a.atttypid from pg_attribute a
    where a.attrelid = t.typrelid and t.typtype = 'c' and a.attnum > 0 and not a.attisdropped) as inner_type(oid)),
part(root, name, value) as (
  select u.root, 'label ' || e.oid, to_json(e.enumlabel) from used u join pg_enum e on e.enumtypid = u.oid
  union all
  select u.root, 'attribute ' || t.oid || '.' || a.attnum, json_build_array(a.attname, a.atttypid::bigint)
  from used u join pg_type t on t.oid = u.oid and t.typtype = 'c'
  join pg_attribute a on a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped),
published(root, value) as (
  select r.prrelid, json_agg(json_build_array(r.oid::bigint, r.xmin::text) order by r.oid)
  from pg_publication_rel r join pg_publication p on p.oid = r.prpubid where p.pubname = %s group by r.prrelid),
members(root, value) as (
  select m.root, json_object_agg(m.oid, json_build_array(m.attached, c.relkind,
    coalesce(nullif(c.relfilenode, 0), pg_relation_filenode(m.oid), 0)::bigint, m.oid::regclass::text))
  from member m join pg_class c on c.oid = m.oid group by m.root),
columns(root, value) as (
  select root, json_object_agg(number, json_build_array(name, type::bigint, modifier, written, generated, missing))
  from attribute group by root),
types(root, value) as (select root, json_object_agg(name, value) from part group by root)
select c.oid::bigint, json_build_object(
  'publication', (select json_build_array(p.oid::bigint, p.xmin::text, published.value, {schemas})
    from pg_publication p where p.pubname = %s),
  'members', members.value, 'numbers', c.relnatts, 'columns', columns.value, 'types', types.value)
from pg_class c left join published on published.root = c.oid left join members on members.root = c.oid
left join columns on columns.root = c.oid left join types on types.root = c.oid where c.oid = any(%s)
"""
_SCHEMAS = (
    "(select json_agg(json_build_array(s.oid::bigint, s.xmin::text)) from pg_publication_namespace s "
    "where s.pnpubid = p.oid and s.pnnspid = c.relnamespace)"
)
_MOST_COLUMNS = 1600
_SCHEMAS_FROM, _TRUNCATE_FROM = 150000, 110000
"""The server's versions that publish whole schemas, and a TRUNCATE of a table without partitions."""
_ROWS_BEFORE = """
with recursive up(parent, attached) as (
  select inhparent, age(xmin) from pg_inherits where inhrelid = %s
  union all
  select h.inhparent, age(h.xmin) from up join pg_inherits h on h.inhrelid = up.parent)
select exists (select from only {0} where age(xmin) >= (select min(attached) from up))
"""
"""Whether a partition has rows of before it was attached: their transactions are not younger."""


def with_shapes(session: Session, tables: Sequence[Captured], publication: str) -> list[Captured]:
    """Return tables with their shapes of now. Raises SourceAway, EnvironmentFault."""
    oids = [one.relation.oid for one in tables]
    schemas = _SCHEMAS if version_of(session) >= _SCHEMAS_FROM else "null"
    shapes = dict(session.rows(_SHAPES.replace("{schemas}", schemas), [oids, oids, publication, publication, oids]))
    return [replace(one, shape=shapes.get(one.relation.oid, {})) for one in tables]


def columns_of(shape: Mapping[str, Any]) -> set[str]:
    """Return the names of a table's columns."""
    return {name for name, *_ in (shape["columns"] or {}).values()}


def reason(session: Session, before: Mapping[str, Any], now: Mapping[str, Any], dropped: Collection[str] = ()) -> str:
    """Return why the rows of a table are others than the log has; nothing where they are not.

    before, now: its shapes. dropped: columns that were dropped since its rows were read. Raises SourceAway,
    EnvironmentFault.
    """
    return next(_reasons(session, before, now, dropped), "")


def _reasons(
    session: Session, before: Mapping[str, Any], now: Mapping[str, Any], dropped: Collection[str]
) -> Iterator[str]:
    if before["publication"] != now["publication"]:
        yield "the publication was altered, and may have lacked changes of it meanwhile"
    old, new = before["members"], now["members"]
    if gone := [old[oid][-1] for oid in old if oid not in new]:
        yield f"partitions are detached or dropped: {', '.join(gone)}"
    stayed = [oid for oid in new if oid in old]
    if again := [new[oid][-1] for oid in stayed if new[oid][0] != old[oid][0]]:
        yield f"partitions were detached and attached again: {', '.join(again)}"
    written = [new[oid][-1] for oid in stayed if new[oid][2] != old[oid][2]]
    if written and (len(old) > 1 or version_of(session) < _TRUNCATE_FROM):
        yield f"it was, or partitions were, truncated or written anew: {', '.join(written)}"
    yield from _of_columns(before["columns"] or {}, now["columns"] or {}, dropped, is_written=bool(written))
    yield from _of_numbers(before.get("numbers", _MOST_COLUMNS), now["columns"] or {})
    yield from _of_types(before["types"] or {}, now["types"] or {})
    for oid, (_, kind, file, name) in new.items():
        if oid in old or kind != "r":
            continue
        if _had_rows(session, int(oid), name):
            yield f"a partition is attached that had rows: {name}"
        elif file != int(oid):  # the number that the file of a new table has
            yield f"a partition is attached that was truncated or written anew: {name}"


def _had_rows(session: Session, oid: int, name: str) -> bool:
    """Return whether a partition had rows when it was attached; True where our user may not read it by itself."""
    try:
        [(has_rows,)] = session.rows(_ROWS_BEFORE.format(name.replace("%", "%%")), [oid])
    except EnvironmentFault:
        return True
    return bool(has_rows)


def _of_columns(
    before: Mapping[str, Any], now: Mapping[str, Any], dropped: Collection[str], *, is_written: bool
) -> Iterator[str]:
    """Yield as `reason`. is_written: the table has other files, as after a VACUUM FULL or a TRUNCATE."""
    gone = {*dropped, *(name for number, (name, *_) in before.items() if number not in now)}
    for number, (name, type_, modifier, row, generated, has_default) in now.items():
        if number not in before:
            if has_default or is_written:
                yield f"column {name} is added with a default"
            elif name in gone:
                yield f"column {name} was dropped, and is added again: rows that were sent have its former values"
            continue
        old_name, old_type, old_modifier, row_before, was_generated, _ = before[number]
        if was_generated and not generated:
            yield f"column {name} is not generated any more"
        if name != old_name:
            yield f"column {old_name} is called {name}"
        if type_ != old_type or (is_written and (modifier, row) != (old_modifier, row_before)):
            yield f"column {name} is of another type, or has other values by ALTER TABLE"


def _of_numbers(last: int, now: Mapping[str, Any]) -> Iterator[str]:
    """Yield as `reason`: numbers of columns ascend, and are not given again. last: that of the last one before."""
    new = {int(number): name for number, (name, *_) in now.items() if int(number) > last}
    if len(new) < max(new, default=last) - last:
        yield f"columns were added and dropped before {', '.join(new.values())} came: rows may have values of these"


def _of_types(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Labels that are added are none of rows that are there; a type that is new is a column's other type."""
    for part in before.keys() & now.keys():
        if before[part] != now[part]:
            yield f"in the type of a column, {before[part]} is {now[part]} now"
    stayed = {_type(part) for part in before} & {_type(part) for part in now}
    for part in before.keys() ^ now.keys():
        if part.startswith("attribute") and _type(part) in stayed:
            yield f"the type of a column has other attributes: {(before.get(part) or now[part])[0]}"


def _type(part: str) -> str:
    return part.rpartition(".")[0]
