-- Queued tasks of an organization in a random order (an id ends in random digits): a look for tasks that can begin reads some of
-- them, beginning anywhere.
create index session_tasks_queued on session_tasks (organization_id, right(id::text, 12), session_id) where status = 'queued';
