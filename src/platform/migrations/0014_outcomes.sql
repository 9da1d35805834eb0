-- What clients want reached, and how far it is: changed with the events that say so.
alter table sessions add column outcomes jsonb not null default '[]';
