create table items(id integer primary key, name text, qty bigint, price numeric(12,2), day date, at timestamptz, flag boolean, ratio double precision, raw bytea, tags text[]);
