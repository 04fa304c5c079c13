-- What is there before the snapshot.
insert into types values (1, true, 1, 7, 300, 70000, 42, 9000000000, 1234, 12.50, 1.5, 2.718281828459045, 'ab', 'abc', 'text', x'00ff1000', x'00ff10ab', x'ab', '2024-02-29', '12:34:56.789', '12:34:56.789012', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56.789012', 2024, 'ok', 'a,c d', '{"a": 1.50, "b":[1,null], "n": "é"}', b'10100101');
insert into types(id) values (2);
insert into orders values (1, 10, 'before'), (2, null, null);
