-- What happens while changes are streamed; a statement is a transaction of its own unless it stands between begin and commit.
insert into types values (10, false, -32768, -2147483648, -9223372036854775808, -9999999999.99, -123456789012345678901234567890.5, -3.4028235e38, -1.7976931348623157e308, 'Zoë', '', '', '', '00000000-0000-0000-0000-000000000000', '[]', '{}', '1899-12-31', '00:00:00', '00:00:00.000001', '1969-12-31 23:59:59.999', '1900-01-01 00:00:00.000001', '1900-01-01 00:00:00.000001+00', '-1 year -2 mons +3 days -04:05:06.000001', '{}', '{}', 'sad');
insert into types values (11, true, 32767, 2147483647, 9223372036854775807, 9999999999.99, 123456789012345678901234567890, 3.4028235e38, 1.7976931348623157e308, 'abcd', 'ends with blanks  ', E'a"b\\c\n\r\td\u0001 é 李 😀 <&>''', '\x000102fbfffe7f80', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '"a\u00e9\n"', '1e3', '9999-12-31', '23:59:59.999', '23:59:59.999999', '9999-12-31 23:59:59.999', '9999-12-31 23:59:59.999999', '9999-12-31 23:59:59.999999+00', '1000 years 11 mons 30 days 23:59:59.999999', array[null, '', 'a b', 'c"d\,{}', 'NULL', 'é'], '{NULL,-2147483648,2147483647}', 'it''s "fine"');
insert into types(id, price, anynum, r, d, c, day, tm, tmu, ts, tsu, tz, iv) values (12, -0.01, -0.01, 0.1, 0.1, '', '0044-03-15 BC', '24:00:00', '24:00:00', '0001-01-01 00:00:00', '0044-03-15 12:00:00.5 BC', '0001-01-01 00:00:00+00', '0');
insert into types(id, price, anynum, r, d, day, tm, tmu, ts, tsu, tz, iv) values (13, 0, 1e-20, '-0', 1e-300, '1970-01-01', '00:00:00.5', '12:34:56.7', '1970-01-01 00:00:00', '1969-12-31 23:59:59.999999', '2024-06-30 23:59:59.9+05:30', '-00:00:00.5');
insert into types(id, r, d, price, anynum, day, ts, tsu, tz) values (14, 'Infinity', 'NaN', 'NaN', 'Infinity', 'infinity', 'infinity', 'infinity', 'infinity'), (15, '-Infinity', '-Infinity', null, '-Infinity', '-infinity', '-infinity', '-infinity', '-infinity');
update types set t = null, price = price + 0.01, anynum = 12e30, flag = not flag, tags = null where id = 1;
delete from types where id = 15;
insert into orders values (3, 30, 'three'), (4, 40, (select string_agg(md5('order' || i), '') from generate_series(1, 80) i));
update orders set qty = 41 where id = 4;
update orders set qty = 11, note = '' where id = 1;
update orders set qty = qty where id = 3;
update orders set id = 5 where id = 2;
delete from orders where id = 3;
insert into documents(id, title, body, raw, doc, tags, nums, amount) select 3, 'all large', string_agg(md5('body' || i), '' order by i), decode(string_agg(md5('raw' || i), '' order by i) filter (where i <= 8), 'hex'), jsonb_build_object('k', string_agg(md5('doc' || i), '' order by i) filter (where i <= 8)), array_agg(md5('tag' || i) order by i) filter (where i <= 8), array_agg(i * 7919 order by i) filter (where i <= 40), 1.50 from generate_series(1, 260) i;
update documents set title = 'title only', amount = -0.01 where id = 3;
update documents set title = 'short body', body = 'short' where id = 2;
update documents set id = 4 where id = 3;
begin;
insert into orders values (6, 60, 'in one transaction');
update documents set title = null where id = 1;
select pg_logical_emit_message(true, 'audit', '{"who": "Zoë"}') is null;
savepoint a;
insert into baskets values (3, 'three');
rollback to savepoint a;
insert into baskets values (4, E'four\nlines');
update orders set qty = 61 where id = 6;
update orders set qty = 62 where id = 6;
delete from orders where id = 1;
insert into orders values (1, 100, 'again');
commit;
begin;
insert into orders values (7, 70, 'never');
rollback;
select pg_logical_emit_message(false, 'not in a transaction', 'plain text') is null;
update baskets set note = 'two, changed' where id = 2;
truncate baskets, basket_lines;
insert into baskets values (1, 'after the truncate');
insert into basket_lines values (2, 1, 5);
begin;
delete from basket_lines where id = 2;
truncate basket_lines;
insert into basket_lines values (3, null, 6);
commit;
copy basket_lines from stdin;
9	1	90
10	\N	100
\.
delete from orders where id = 5;
