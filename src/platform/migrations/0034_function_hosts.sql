-- Finds the functions that had a host name: it is given to nobody else.

create index functions_host on functions (host);
