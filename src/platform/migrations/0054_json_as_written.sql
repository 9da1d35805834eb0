-- What is only passed on is kept as it was written: jsonb sorts the keys of objects, loses the sign of -0, and makes
-- 1e400 four hundred digits.

alter table session_events alter column data type json using data::json;
alter table sessions alter column agent_definition type json using agent_definition::json;
alter table agents alter column definition type json using definition::json;
alter table agent_versions alter column definition type json using definition::json;
