create type mood as enum('sad', 'ok', 'it''s "fine"');
create table types(id bigint primary key, flag boolean, small smallint, num integer, big bigint, price numeric(12,2), anynum numeric, r real, d double precision, c char(4), v varchar(40), t text, b bytea, u uuid, j json, jb jsonb, day date, tm time(3), tmu time(6), ts timestamp(3), tsu timestamp(6), tz timestamptz, iv interval, tags text[], nums integer[], mood mood);
create table orders(id integer primary key, qty integer, note text);
create table documents(id integer primary key, title varchar(40), body text, raw bytea, doc jsonb, tags text[], nums integer[], amount numeric(10,2) not null default 0);
create table baskets(id integer primary key, note text);
create table basket_lines(id integer primary key, basket integer references baskets, qty integer not null);
