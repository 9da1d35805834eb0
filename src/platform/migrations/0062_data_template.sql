-- The template `data`, which a node builds when somebody first asks for a VM of it, and what each node has built.

insert into templates (id, name, description)
values ('00000000-0000-7000-8000-000000000003', 'data', 'All that `base` has, and numpy, pandas, scipy, matplotlib, openpyxl and Jupyter’s Python kernel.');

alter table nodes add column templates text[] not null default '{}'; -- names of Berth's own that are built there
