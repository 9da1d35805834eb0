-- A function reaches the databases that are linked to it with a password of its own, which nobody is shown.

alter table databases add column link_verifier text;  -- SCRAM-SHA-256; null: linked to no function, as what follows
alter table databases add column sealed_link bytea;   -- the password
