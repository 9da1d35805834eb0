-- Lists across nouns: the fires of all triggers of an organization. Apart from the sessions, and with the stronger lock first:
-- transactions of other processes lock fires and then write fires and sessions, so that neither waits for the other.

drop index if exists trigger_fires_organization;
create index if not exists trigger_fires_newest on trigger_fires (organization_id, id desc);
