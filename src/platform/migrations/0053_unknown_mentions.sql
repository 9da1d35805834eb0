-- A message of a group may say that a mention in it is of nobody.

alter table group_messages drop constraint group_messages_undelivered_reason_check;
alter table group_messages add constraint group_messages_undelivered_reason_check
  check (undelivered_reason in ('hop_limit', 'run_limit', 'member_busy', 'unknown_mention'));
