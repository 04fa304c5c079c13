-- What is there before the snapshot, and how the tables are stored.
alter table orders replica identity full;
alter table baskets replica identity full;
alter table orders alter note set storage external;
alter table documents alter body set storage external, alter raw set storage external, alter doc set storage external, alter tags set storage external, alter nums set storage external, set (toast_tuple_target = 128);
insert into types values (1, true, 7, 42, 9000000000, 12.50, 3.140, 1.5, 2.718281828459045, 'ab', 'abc', 'text', '\x00ff10ab', '6f1b1c4e-0d6c-4c39-9a55-0e3f1a2b3c4d', '{"a": 1.50, "b":[1,null]}', '{"k": [1, 2.50, null], "n": "é"}', '2024-02-29', '12:34:56.789', '12:34:56.789012', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56.789012+02', '1 year 2 mons 3 days 04:05:06.789012', '{a,b}', '{1,2,3}', 'ok');
insert into types(id) values (2);
insert into types(id, r, d, price, day, ts, tsu, tz) values (3, 'Infinity', 'NaN', 'NaN', 'infinity', 'infinity', 'infinity', 'infinity'), (4, '-Infinity', '-Infinity', null, '-infinity', '-infinity', '-infinity', '-infinity');
insert into orders values (1, 10, 'before'), (2, null, null);
insert into documents(id, title, body) values (1, 'short', 'short'), (2, 'pseudo-random', (select string_agg(md5('before' || i), '') from generate_series(1, 20) i));
insert into baskets values (1, 'one'), (2, 'two');
insert into basket_lines values (1, 1, 1);
