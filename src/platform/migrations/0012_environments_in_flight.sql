-- Those on their way are few among many: an organization's are counted at each use that begins one, and stranded ones are looked for.
create index environments_in_flight on environments (organization_id) where status = 'provisioning';
