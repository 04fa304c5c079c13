--
-- PostgreSQL database dump
--

\restrict v9xyaYHugyCMMD5Mr3wWA0jfEkclY1QHOcZfm8Dmgj7TP0UNpdk9KSws3fOH5nq

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: Weird Schema; Type: SCHEMA; Schema: -; Owner: postgres
--

CREATE SCHEMA "Weird Schema";


ALTER SCHEMA "Weird Schema" OWNER TO postgres;

--
-- Name: ext; Type: SCHEMA; Schema: -; Owner: postgres
--

CREATE SCHEMA ext;


ALTER SCHEMA ext OWNER TO postgres;

--
-- Name: ops; Type: SCHEMA; Schema: -; Owner: postgres
--

CREATE SCHEMA ops;


ALTER SCHEMA ops OWNER TO postgres;

--
-- Name: citext; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA ext;


--
-- Name: EXTENSION citext; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION citext IS 'data type for case-insensitive character strings';


--
-- Name: hstore; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS hstore WITH SCHEMA ext;


--
-- Name: EXTENSION hstore; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION hstore IS 'data type for storing sets of (key, value) pairs';


--
-- Name: ltree; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS ltree WITH SCHEMA ext;


--
-- Name: EXTENSION ltree; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION ltree IS 'data type for hierarchical tree-like structures';


--
-- Name: Weird Domain; Type: DOMAIN; Schema: Weird Schema; Owner: postgres
--

CREATE DOMAIN "Weird Schema"."Weird Domain" AS timestamp(3) without time zone;


ALTER DOMAIN "Weird Schema"."Weird Domain" OWNER TO postgres;

--
-- Name: Order State; Type: TYPE; Schema: ops; Owner: postgres
--

CREATE TYPE ops."Order State" AS ENUM (
    'new',
    'done'
);


ALTER TYPE ops."Order State" OWNER TO postgres;

--
-- Name: codes; Type: DOMAIN; Schema: ops; Owner: postgres
--

CREATE DOMAIN ops.codes AS character varying(5)[];


ALTER DOMAIN ops.codes OWNER TO postgres;

--
-- Name: address; Type: TYPE; Schema: public; Owner: postgres
--

CREATE TYPE public.address AS (
	street text,
	"House No" integer,
	zip character varying(10)
);


ALTER TYPE public.address OWNER TO postgres;

--
-- Name: email; Type: DOMAIN; Schema: public; Owner: postgres
--

CREATE DOMAIN public.email AS ext.citext
	CONSTRAINT email_check CHECK (((VALUE)::text ~ '^[^@;]+@[^@]+$'::text));


ALTER DOMAIN public.email OWNER TO postgres;

--
-- Name: float_range; Type: TYPE; Schema: public; Owner: postgres
--

CREATE TYPE public.float_range AS RANGE (
    subtype = double precision,
    multirange_type_name = public.float_multirange
);


ALTER TYPE public.float_range OWNER TO postgres;

--
-- Name: mood; Type: TYPE; Schema: public; Owner: postgres
--

CREATE TYPE public.mood AS ENUM (
    'sad',
    'so; so',
    'it''s fine'
);


ALTER TYPE public.mood OWNER TO postgres;

--
-- Name: quantity; Type: DOMAIN; Schema: public; Owner: postgres
--

CREATE DOMAIN public.quantity AS numeric(12,3) NOT NULL DEFAULT 0
	CONSTRAINT positive CHECK ((VALUE >= (0)::numeric));


ALTER DOMAIN public.quantity OWNER TO postgres;

--
-- Name: small_quantity; Type: DOMAIN; Schema: public; Owner: postgres
--

CREATE DOMAIN public.small_quantity AS public.quantity DEFAULT 0
	CONSTRAINT small_quantity_check CHECK (((VALUE)::numeric < (100)::numeric));


ALTER DOMAIN public.small_quantity OWNER TO postgres;

--
-- Name: nothing(); Type: PROCEDURE; Schema: public; Owner: postgres
--

CREATE PROCEDURE public.nothing()
    LANGUAGE sql
    AS $$ SELECT 1; $$;


ALTER PROCEDURE public.nothing() OWNER TO postgres;

--
-- Name: plain(integer); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.plain(n integer) RETURNS integer
    LANGUAGE sql
    AS $$select n; select 'x;y'; select 1$$;


ALTER FUNCTION public.plain(n integer) OWNER TO postgres;

--
-- Name: touch(); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.touch() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    -- CREATE TABLE not_this_one (a int); 'it''s
    NEW.changed := now(); PERFORM 'a;b';
    RETURN NEW;
END; $$;


ALTER FUNCTION public.touch() OWNER TO postgres;

--
-- Name: twice(integer); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.twice(n integer) RETURNS integer
    LANGUAGE sql IMMUTABLE
    BEGIN ATOMIC
 SELECT n AS n;
 SELECT
         CASE
             WHEN (n > 0) THEN (n * 2)
             ELSE 0
         END AS "case";
END;


ALTER FUNCTION public.twice(n integer) OWNER TO postgres;

--
-- Name: total(integer); Type: AGGREGATE; Schema: public; Owner: postgres
--

CREATE AGGREGATE public.total(integer) (
    SFUNC = int4pl,
    STYPE = integer,
    INITCOND = '0'
);


ALTER AGGREGATE public.total(integer) OWNER TO postgres;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: Weird; Table; Type: TABLE; Schema: Weird Schema; Owner: postgres
--

CREATE TABLE "Weird Schema"."Weird; Table" (
    "a b" integer NOT NULL,
    "it's" text DEFAULT 'x;y'::text,
    "quo""ted" "Weird Schema"."Weird Domain",
    "select" integer NOT NULL,
    "Ünïcode" text
);


ALTER TABLE "Weird Schema"."Weird; Table" OWNER TO postgres;

--
-- Name: orders; Type: TABLE; Schema: ops; Owner: postgres
--

CREATE TABLE ops.orders (
    number integer NOT NULL,
    state ops."Order State" DEFAULT 'new'::ops."Order State" NOT NULL
);


ALTER TABLE ops.orders OWNER TO postgres;

--
-- Name: orders_number_seq; Type: SEQUENCE; Schema: ops; Owner: postgres
--

ALTER TABLE ops.orders ALTER COLUMN number ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME ops.orders_number_seq
    START WITH 100
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: Vehicle; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public."Vehicle" (
    "Id" integer NOT NULL,
    id text
);


ALTER TABLE public."Vehicle" OWNER TO postgres;

--
-- Name: altered; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.altered (
    id integer NOT NULL,
    kept character varying(7),
    added timestamp(0) without time zone DEFAULT now() NOT NULL
);


ALTER TABLE public.altered OWNER TO postgres;

--
-- Name: arrays; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.arrays (
    id integer NOT NULL,
    i integer[] DEFAULT '{}'::integer[],
    ii integer[],
    i3 integer[],
    v character varying(9)[],
    n numeric(8,2)[],
    ts timestamp(3) without time zone[],
    moods public.mood[] DEFAULT ARRAY['sad'::public.mood],
    mails public.email[],
    codes ops.codes,
    b bit(3)[],
    u uuid[]
);


ALTER TABLE public.arrays OWNER TO postgres;

--
-- Name: bits; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.bits (
    id integer NOT NULL,
    b boolean DEFAULT true NOT NULL,
    bit1 bit(1),
    bit8 bit(8) DEFAULT '00000001'::"bit",
    vb bit varying,
    vb9 bit varying(9),
    raw bytea DEFAULT '\x00'::bytea
);


ALTER TABLE public.bits OWNER TO postgres;

--
-- Name: checked; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.checked (
    id integer NOT NULL,
    a text,
    b integer,
    during tsrange,
    CONSTRAINT checked_a_check CHECK ((a = ANY (ARRAY['x'::text, 'y;z'::text]))),
    CONSTRAINT checked_b_check CHECK (((b >= 0) AND (b < 10))) NO INHERIT,
    CONSTRAINT "it's; odd" CHECK (((a IS NULL) <> (b IS NULL)))
);


ALTER TABLE public.checked OWNER TO postgres;

--
-- Name: parent; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.parent (
    id integer NOT NULL,
    made date NOT NULL,
    note text
);


ALTER TABLE public.parent OWNER TO postgres;

--
-- Name: child; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.child (
    note text NOT NULL,
    extra numeric(4,1)
)
INHERITS (public.parent);


ALTER TABLE public.child OWNER TO postgres;

--
-- Name: orders; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.orders (
    id bigint NOT NULL,
    customer bigint NOT NULL,
    placed timestamp(3) with time zone DEFAULT now() NOT NULL
);


ALTER TABLE public.orders OWNER TO postgres;

--
-- Name: counted; Type: MATERIALIZED VIEW; Schema: public; Owner: postgres
--

CREATE MATERIALIZED VIEW public.counted AS
 SELECT count(*) AS n
   FROM public.orders
  WITH NO DATA;


ALTER TABLE public.counted OWNER TO postgres;

--
-- Name: customers; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.customers (
    id bigint NOT NULL,
    name character varying(50) NOT NULL,
    mail public.email
);


ALTER TABLE public.customers OWNER TO postgres;

--
-- Name: customers_id_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

CREATE SEQUENCE public.customers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public.customers_id_seq OWNER TO postgres;

--
-- Name: customers_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: postgres
--

ALTER SEQUENCE public.customers_id_seq OWNED BY public.customers.id;


--
-- Name: deferred_key; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.deferred_key (
    code text NOT NULL
);


ALTER TABLE public.deferred_key OWNER TO postgres;

--
-- Name: domain_key; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.domain_key (
    quantity public.quantity,
    note text
);


ALTER TABLE public.domain_key OWNER TO postgres;

--
-- Name: expression_index; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.expression_index (
    code text NOT NULL,
    note text NOT NULL
);


ALTER TABLE public.expression_index OWNER TO postgres;

--
-- Name: generated; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.generated (
    id integer NOT NULL,
    a integer,
    b integer GENERATED ALWAYS AS (
CASE
    WHEN (a > 0) THEN (a * 2)
    ELSE 0
END) STORED NOT NULL,
    changed timestamp with time zone
);


ALTER TABLE public.generated OWNER TO postgres;

--
-- Name: grandchild; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.grandchild (
    more text
)
INHERITS (public.child);


ALTER TABLE public.grandchild OWNER TO postgres;

--
-- Name: identity_constraint; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.identity_constraint (
    id integer,
    code text NOT NULL
);


ALTER TABLE public.identity_constraint OWNER TO postgres;

--
-- Name: identity_full; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.identity_full (
    id integer NOT NULL,
    v text
);

ALTER TABLE ONLY public.identity_full REPLICA IDENTITY FULL;


ALTER TABLE public.identity_full OWNER TO postgres;

--
-- Name: identity_index; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.identity_index (
    id integer NOT NULL,
    code text NOT NULL,
    other text NOT NULL
);


ALTER TABLE public.identity_index OWNER TO postgres;

--
-- Name: like_orders; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.like_orders (
    order_id bigint NOT NULL,
    line smallint NOT NULL,
    item text NOT NULL COLLATE pg_catalog."C",
    quantity public.quantity,
    price numeric(12,2) DEFAULT 0.00,
    total numeric GENERATED ALWAYS AS ((price * (2)::numeric)) STORED
);


ALTER TABLE public.like_orders OWNER TO postgres;

--
-- Name: measures; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.measures (
    city integer NOT NULL,
    day date NOT NULL,
    peak real DEFAULT 0
)
PARTITION BY RANGE (day);


ALTER TABLE public.measures OWNER TO postgres;

--
-- Name: measures_2025; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.measures_2025 (
    city integer NOT NULL,
    day date NOT NULL,
    peak real DEFAULT 0
);


ALTER TABLE public.measures_2025 OWNER TO postgres;

--
-- Name: measures_2026; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.measures_2026 (
    city integer NOT NULL,
    day date NOT NULL,
    peak real DEFAULT 1 NOT NULL
)
PARTITION BY LIST (city);


ALTER TABLE public.measures_2026 OWNER TO postgres;

--
-- Name: measures_2026_1; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.measures_2026_1 (
    city integer NOT NULL,
    day date NOT NULL,
    peak real DEFAULT 1 NOT NULL
);


ALTER TABLE public.measures_2026_1 OWNER TO postgres;

--
-- Name: measures_rest; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.measures_rest (
    day date NOT NULL,
    city integer NOT NULL,
    peak real DEFAULT NULL
);


ALTER TABLE public.measures_rest OWNER TO postgres;

--
-- Name: named_types; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.named_types (
    id integer NOT NULL,
    m public.mood DEFAULT 'sad'::public.mood NOT NULL,
    home public.address,
    homes public.address[],
    s public.small_quantity,
    stamp "Weird Schema"."Weird Domain",
    r public.float_range,
    ir int4range,
    tr tstzrange[],
    mr nummultirange
);


ALTER TABLE public.named_types OWNER TO postgres;

--
-- Name: networks; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.networks (
    id integer NOT NULL,
    a inet,
    c cidr,
    m macaddr,
    m8 macaddr8
)
WITH (fillfactor='70');


ALTER TABLE public.networks OWNER TO postgres;

--
-- Name: no_key; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.no_key (
    a integer,
    b text
);

ALTER TABLE ONLY public.no_key REPLICA IDENTITY FULL;


ALTER TABLE public.no_key OWNER TO postgres;

--
-- Name: nothing_in_it; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.nothing_in_it (
);


ALTER TABLE public.nothing_in_it OWNER TO postgres;

--
-- Name: numbers; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.numbers (
    id smallint NOT NULL,
    i2 smallint,
    i4 integer,
    i8 bigint,
    f4 real,
    f8 double precision,
    n numeric,
    n10 numeric(10,0),
    n52 numeric(5,2),
    n_negative numeric(5,-2),
    n_small numeric(3,5),
    n_wide numeric(90,10),
    cash money,
    o oid,
    s integer NOT NULL
);


ALTER TABLE public.numbers OWNER TO postgres;

--
-- Name: numbers_id_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

CREATE SEQUENCE public.numbers_id_seq
    AS smallint
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public.numbers_id_seq OWNER TO postgres;

--
-- Name: numbers_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: postgres
--

ALTER SEQUENCE public.numbers_id_seq OWNED BY public.numbers.id;


--
-- Name: numbers_s_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

CREATE SEQUENCE public.numbers_s_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public.numbers_s_seq OWNER TO postgres;

--
-- Name: numbers_s_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: postgres
--

ALTER SEQUENCE public.numbers_s_seq OWNED BY public.numbers.s;


--
-- Name: open_orders; Type: VIEW; Schema: public; Owner: postgres
--

CREATE VIEW public.open_orders AS
 SELECT o.number,
    'a;b'::text AS x
   FROM ops.orders o
  WHERE (o.state = 'new'::ops."Order State");


ALTER TABLE public.open_orders OWNER TO postgres;

--
-- Name: order; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public."order" (
    "table" integer NOT NULL,
    "primary" text NOT NULL,
    "unique" text,
    "check" boolean,
    "constraint" integer,
    "like" integer,
    "user" text
);


ALTER TABLE public."order" OWNER TO postgres;

--
-- Name: TABLE "order"; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON TABLE public."order" IS 'a comment; with a semicolon
\connect nowhere
and CREATE TABEL in it';


--
-- Name: order_lines; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.order_lines (
    order_id bigint NOT NULL,
    line smallint NOT NULL,
    item text NOT NULL COLLATE pg_catalog."C",
    quantity public.quantity,
    price numeric(12,2) DEFAULT 0.00,
    total numeric GENERATED ALWAYS AS ((price * (2)::numeric)) STORED
);


ALTER TABLE public.order_lines OWNER TO postgres;

--
-- Name: orders_id_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

ALTER TABLE public.orders ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.orders_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: partial_index; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.partial_index (
    code text NOT NULL,
    active boolean NOT NULL
);


ALTER TABLE public.partial_index OWNER TO postgres;

--
-- Name: reversed_key; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.reversed_key (
    a integer NOT NULL,
    b integer,
    c text NOT NULL
);


ALTER TABLE public.reversed_key OWNER TO postgres;

--
-- Name: shapes; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.shapes (
    id integer NOT NULL,
    p point,
    l line,
    s lseg,
    b box,
    w path,
    g polygon,
    c circle
);


ALTER TABLE public.shapes OWNER TO postgres;

--
-- Name: texts; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.texts (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    c character(10),
    c1 character(1),
    v character varying,
    v50 character varying(50) DEFAULT 'a'::character varying,
    t text,
    n name,
    ci ext.citext,
    internal "char",
    x xml,
    j json,
    jb jsonb DEFAULT '{"a": [1, 2]}'::jsonb,
    path jsonpath,
    h ext.hstore,
    tree ext.ltree,
    vec tsvector,
    query tsquery
);
ALTER TABLE ONLY public.texts ALTER COLUMN t SET STATISTICS 50;
ALTER TABLE ONLY public.texts ALTER COLUMN t SET STORAGE EXTERNAL;


ALTER TABLE public.texts OWNER TO postgres;

--
-- Name: COLUMN texts.t; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON COLUMN public.texts.t IS 'it''s $$ odd; -- really';


--
-- Name: ticket_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

CREATE SEQUENCE public.ticket_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public.ticket_seq OWNER TO postgres;

--
-- Name: times; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.times (
    id integer NOT NULL,
    d date,
    t time without time zone,
    t3 time(3) without time zone,
    tz time with time zone,
    tz0 time(0) with time zone,
    ts timestamp without time zone DEFAULT (now() AT TIME ZONE 'utc'::text),
    ts0 timestamp(0) without time zone,
    ts3 timestamp(3) without time zone,
    tstz timestamp with time zone,
    tstz3 timestamp(3) with time zone,
    i interval DEFAULT '01:00:00'::interval,
    i3 interval(3),
    iym interval year to month,
    ids interval day to second(3),
    ism interval second(2)
);


ALTER TABLE public.times OWNER TO postgres;

--
-- Name: typed; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.typed OF public.address (
    street NOT NULL
);


ALTER TABLE public.typed OWNER TO postgres;

--
-- Name: unique_constraint; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.unique_constraint (
    code character(3) NOT NULL,
    note text
);


ALTER TABLE public.unique_constraint OWNER TO postgres;

--
-- Name: unique_index; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.unique_index (
    region text NOT NULL,
    code text NOT NULL,
    note text
);


ALTER TABLE public.unique_index OWNER TO postgres;

--
-- Name: unique_not_distinct; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.unique_not_distinct (
    region text,
    code text NOT NULL
);


ALTER TABLE public.unique_not_distinct OWNER TO postgres;

--
-- Name: unique_nullable; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.unique_nullable (
    code character(3),
    note text
);


ALTER TABLE public.unique_nullable OWNER TO postgres;

--
-- Name: unlogged; Type: TABLE; Schema: public; Owner: postgres
--

CREATE UNLOGGED TABLE public.unlogged (
    id integer NOT NULL
);


ALTER TABLE public.unlogged OWNER TO postgres;

--
-- Name: unquoted_words; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.unquoted_words (
    name text,
    value integer,
    type text,
    date date,
    "time" time without time zone,
    "timestamp" timestamp without time zone,
    key text,
    index integer,
    partition text,
    comment text,
    period text,
    language text,
    text text,
    row_number integer NOT NULL
);


ALTER TABLE public.unquoted_words OWNER TO postgres;

--
-- Name: vehicle; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.vehicle (
    id integer NOT NULL
);


ALTER TABLE public.vehicle OWNER TO postgres;

--
-- Name: measures_2025; Type: TABLE ATTACH; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.measures ATTACH PARTITION public.measures_2025 FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');


--
-- Name: measures_2026; Type: TABLE ATTACH; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.measures ATTACH PARTITION public.measures_2026 FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');


--
-- Name: measures_2026_1; Type: TABLE ATTACH; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.measures_2026 ATTACH PARTITION public.measures_2026_1 FOR VALUES IN (1, 2);


--
-- Name: measures_rest; Type: TABLE ATTACH; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.measures ATTACH PARTITION public.measures_rest DEFAULT;


--
-- Name: customers id; Type: DEFAULT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.customers ALTER COLUMN id SET DEFAULT nextval('public.customers_id_seq'::regclass);


--
-- Name: numbers id; Type: DEFAULT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.numbers ALTER COLUMN id SET DEFAULT nextval('public.numbers_id_seq'::regclass);


--
-- Name: numbers s; Type: DEFAULT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.numbers ALTER COLUMN s SET DEFAULT nextval('public.numbers_s_seq'::regclass);


--
-- Name: Weird; Table Weird; Table_pkey; Type: CONSTRAINT; Schema: Weird Schema; Owner: postgres
--

ALTER TABLE ONLY "Weird Schema"."Weird; Table"
    ADD CONSTRAINT "Weird; Table_pkey" PRIMARY KEY ("a b", "select");


--
-- Name: orders orders_pkey; Type: CONSTRAINT; Schema: ops; Owner: postgres
--

ALTER TABLE ONLY ops.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (number);


--
-- Name: identity_constraint The Code; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.identity_constraint
    ADD CONSTRAINT "The Code" UNIQUE (code);

ALTER TABLE ONLY public.identity_constraint REPLICA IDENTITY USING INDEX "The Code";


--
-- Name: Vehicle Vehicle_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public."Vehicle"
    ADD CONSTRAINT "Vehicle_pkey" PRIMARY KEY ("Id");


--
-- Name: altered altered_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.altered
    ADD CONSTRAINT altered_pkey PRIMARY KEY (id);


--
-- Name: arrays arrays_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.arrays
    ADD CONSTRAINT arrays_pkey PRIMARY KEY (id);


--
-- Name: bits bits_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.bits
    ADD CONSTRAINT bits_pkey PRIMARY KEY (id);


--
-- Name: checked checked_during_excl; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.checked
    ADD CONSTRAINT checked_during_excl EXCLUDE USING gist (during WITH &&);


--
-- Name: checked checked_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.checked
    ADD CONSTRAINT checked_pkey PRIMARY KEY (id);


--
-- Name: customers customers_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.customers
    ADD CONSTRAINT customers_pkey PRIMARY KEY (id);


--
-- Name: deferred_key deferred_key_code; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.deferred_key
    ADD CONSTRAINT deferred_key_code UNIQUE (code) DEFERRABLE INITIALLY DEFERRED;


--
-- Name: domain_key domain_key_quantity_key; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.domain_key
    ADD CONSTRAINT domain_key_quantity_key UNIQUE (quantity);


--
-- Name: generated generated_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.generated
    ADD CONSTRAINT generated_pkey PRIMARY KEY (id);


--
-- Name: grandchild grandchild_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.grandchild
    ADD CONSTRAINT grandchild_pkey PRIMARY KEY (id, made);


--
-- Name: identity_full identity_full_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.identity_full
    ADD CONSTRAINT identity_full_pkey PRIMARY KEY (id);


--
-- Name: identity_index identity_index_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.identity_index
    ADD CONSTRAINT identity_index_pkey PRIMARY KEY (id);


--
-- Name: like_orders like_orders_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.like_orders
    ADD CONSTRAINT like_orders_pkey PRIMARY KEY (order_id, line) INCLUDE (item);


--
-- Name: measures measures_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.measures
    ADD CONSTRAINT measures_pkey PRIMARY KEY (city, day);


--
-- Name: measures_2025 measures_2025_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.measures_2025
    ADD CONSTRAINT measures_2025_pkey PRIMARY KEY (city, day);


--
-- Name: measures_2026 measures_2026_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.measures_2026
    ADD CONSTRAINT measures_2026_pkey PRIMARY KEY (city, day);


--
-- Name: measures_2026_1 measures_2026_1_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.measures_2026_1
    ADD CONSTRAINT measures_2026_1_pkey PRIMARY KEY (city, day);


--
-- Name: measures_rest measures_rest_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.measures_rest
    ADD CONSTRAINT measures_rest_pkey PRIMARY KEY (city, day);


--
-- Name: named_types named_types_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.named_types
    ADD CONSTRAINT named_types_pkey PRIMARY KEY (id);


--
-- Name: networks networks_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.networks
    ADD CONSTRAINT networks_pkey PRIMARY KEY (id);


--
-- Name: numbers numbers_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.numbers
    ADD CONSTRAINT numbers_pkey PRIMARY KEY (id);


--
-- Name: order_lines order_lines_key; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.order_lines
    ADD CONSTRAINT order_lines_key PRIMARY KEY (order_id, line) INCLUDE (item);


--
-- Name: order order_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public."order"
    ADD CONSTRAINT order_pkey PRIMARY KEY ("table");


--
-- Name: orders orders_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);


--
-- Name: parent parent_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.parent
    ADD CONSTRAINT parent_pkey PRIMARY KEY (id);


--
-- Name: reversed_key reversed_key_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.reversed_key
    ADD CONSTRAINT reversed_key_pkey PRIMARY KEY (c, a);


--
-- Name: shapes shapes_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.shapes
    ADD CONSTRAINT shapes_pkey PRIMARY KEY (id);


--
-- Name: texts texts_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.texts
    ADD CONSTRAINT texts_pkey PRIMARY KEY (id);


--
-- Name: times times_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.times
    ADD CONSTRAINT times_pkey PRIMARY KEY (id);

ALTER TABLE public.times CLUSTER ON times_pkey;


--
-- Name: typed typed_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.typed
    ADD CONSTRAINT typed_pkey PRIMARY KEY (street);


--
-- Name: unique_constraint unique_constraint_code_key; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.unique_constraint
    ADD CONSTRAINT unique_constraint_code_key UNIQUE (code);


--
-- Name: unique_not_distinct unique_not_distinct_region_code_key; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.unique_not_distinct
    ADD CONSTRAINT unique_not_distinct_region_code_key UNIQUE NULLS NOT DISTINCT (region, code);


--
-- Name: unique_nullable unique_nullable_code_key; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.unique_nullable
    ADD CONSTRAINT unique_nullable_code_key UNIQUE (code);


--
-- Name: unlogged unlogged_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.unlogged
    ADD CONSTRAINT unlogged_pkey PRIMARY KEY (id);


--
-- Name: unquoted_words unquoted_words_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.unquoted_words
    ADD CONSTRAINT unquoted_words_pkey PRIMARY KEY (row_number);


--
-- Name: vehicle vehicle_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.vehicle
    ADD CONSTRAINT vehicle_pkey PRIMARY KEY (id);


--
-- Name: counted_key; Type: INDEX; Schema: public; Owner: postgres
--

CREATE UNIQUE INDEX counted_key ON public.counted USING btree (n);


--
-- Name: customers_name; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX customers_name ON public.customers USING gin (to_tsvector('english'::regconfig, (name)::text));


--
-- Name: expression_key; Type: INDEX; Schema: public; Owner: postgres
--

CREATE UNIQUE INDEX expression_key ON public.expression_index USING btree (lower(code), note);


--
-- Name: identity_index_code; Type: INDEX; Schema: public; Owner: postgres
--

CREATE UNIQUE INDEX identity_index_code ON public.identity_index USING btree (code);


--
-- Name: identity_index_other; Type: INDEX; Schema: public; Owner: postgres
--

CREATE UNIQUE INDEX identity_index_other ON public.identity_index USING btree (other);

ALTER TABLE ONLY public.identity_index REPLICA IDENTITY USING INDEX identity_index_other;


--
-- Name: partial_key; Type: INDEX; Schema: public; Owner: postgres
--

CREATE UNIQUE INDEX partial_key ON public.partial_index USING btree (code) WHERE active;


--
-- Name: unique_index_key; Type: INDEX; Schema: public; Owner: postgres
--

CREATE UNIQUE INDEX unique_index_key ON public.unique_index USING btree (region, code DESC NULLS LAST) INCLUDE (note);


--
-- Name: measures_2025_pkey; Type: INDEX ATTACH; Schema: public; Owner: postgres
--

ALTER INDEX public.measures_pkey ATTACH PARTITION public.measures_2025_pkey;


--
-- Name: measures_2026_1_pkey; Type: INDEX ATTACH; Schema: public; Owner: postgres
--

ALTER INDEX public.measures_2026_pkey ATTACH PARTITION public.measures_2026_1_pkey;


--
-- Name: measures_2026_pkey; Type: INDEX ATTACH; Schema: public; Owner: postgres
--

ALTER INDEX public.measures_pkey ATTACH PARTITION public.measures_2026_pkey;


--
-- Name: measures_rest_pkey; Type: INDEX ATTACH; Schema: public; Owner: postgres
--

ALTER INDEX public.measures_pkey ATTACH PARTITION public.measures_rest_pkey;


--
-- Name: lines; Type: STATISTICS; Schema: public; Owner: postgres
--

CREATE STATISTICS public.lines (dependencies) ON order_id, line FROM public.order_lines;


ALTER STATISTICS public.lines OWNER TO postgres;

--
-- Name: no_key quiet; Type: RULE; Schema: public; Owner: postgres
--

CREATE RULE quiet AS
    ON DELETE TO public.no_key DO INSTEAD NOTHING;


--
-- Name: generated touched; Type: TRIGGER; Schema: public; Owner: postgres
--

CREATE TRIGGER touched BEFORE INSERT OR UPDATE ON public.generated FOR EACH ROW WHEN ((new.a > 0)) EXECUTE FUNCTION public.touch();


--
-- Name: order_lines order_lines_order_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.order_lines
    ADD CONSTRAINT order_lines_order_id_fkey FOREIGN KEY (order_id) REFERENCES public.orders(id);


--
-- Name: orders orders_customer_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_customer_fkey FOREIGN KEY (customer) REFERENCES public.customers(id) ON DELETE CASCADE;


--
-- Name: customers; Type: ROW SECURITY; Schema: public; Owner: postgres
--

ALTER TABLE public.customers ENABLE ROW LEVEL SECURITY;

--
-- Name: customers own; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY own ON public.customers USING (((name)::text = CURRENT_USER));


--
-- Name: everything; Type: PUBLICATION; Schema: -; Owner: postgres
--

CREATE PUBLICATION everything FOR ALL TABLES WITH (publish = 'insert, update, delete, truncate');


ALTER PUBLICATION everything OWNER TO postgres;

--
-- Name: TABLE orders; Type: ACL; Schema: public; Owner: postgres
--

GRANT SELECT ON TABLE public.orders TO reader;


--
-- Name: DEFAULT PRIVILEGES FOR TABLES; Type: DEFAULT ACL; Schema: ops; Owner: postgres
--

ALTER DEFAULT PRIVILEGES FOR ROLE postgres IN SCHEMA ops GRANT SELECT ON TABLES  TO reader;


--
-- PostgreSQL database dump complete
--

\unrestrict v9xyaYHugyCMMD5Mr3wWA0jfEkclY1QHOcZfm8Dmgj7TP0UNpdk9KSws3fOH5nq

