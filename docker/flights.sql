-- The table the pipeline reads: the same as the demo's.
CREATE TABLE public.flights (
    id bigint PRIMARY KEY,
    flight_date date NOT NULL,
    carrier text NOT NULL,
    flight integer NOT NULL,
    tailnum text,
    origin text NOT NULL,
    dest text NOT NULL,
    sched_dep timestamp NOT NULL,
    actual_dep timestamptz,
    dep_delay integer,
    arr_delay integer,
    air_time integer,
    distance numeric(6,1) NOT NULL,
    status text NOT NULL
);
-- Without it a delete's before image is made up, and its event time with it.
ALTER TABLE public.flights REPLICA IDENTITY FULL;
