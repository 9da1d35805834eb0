-- The ledger's requests may come by the gateway's further paths: in Anthropic's format, OpenAI's responses, embeddings.

alter table inference_requests drop constraint inference_requests_route_check;
alter table inference_requests add constraint inference_requests_route_check
  check (route in ('chat.completions', 'chat', 'messages', 'responses', 'embeddings', 'graphql', 'agent'));
