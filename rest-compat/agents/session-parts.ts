/** What documents select of the parts of a session. */

const money = '{ amount currency }'

/** The parts, each as the selection of its type. */
export const sessionParts = {
  activity: `{ last_event_id: lastEventId last_event_at: lastEventAt last_read_event_id: lastReadEventId unread_count: unreadCount
    requires_action: isActionRequired }`,
  budget: `{ type max_list_cost: maxListCost ${money} }`,
  modelUsage: `{ input_tokens: inputTokens output_tokens: outputTokens cache_read_input_tokens: cacheReadInputTokens
    cache_creation_input_tokens: cacheCreationInputTokens }`,
  outcome: '{ type outcome_id: outcomeId description result iteration explanation completed_at: completedAt }',
  stopReason: '{ type ... on RequiresAction { event_ids: eventIds } }',
  usage: `{ input_tokens: inputTokens output_tokens: outputTokens cache_read_input_tokens: cacheReadInputTokens
    cache_creation: cacheCreation { ephemeral_5m_input_tokens: ephemeral5mInputTokens ephemeral_1h_input_tokens: ephemeral1hInputTokens }
    server_tool_use: serverToolUse { web_search_requests: webSearchRequests web_fetch_requests: webFetchRequests }
    active_seconds: activeSeconds list_cost: listCost ${money} }`,
} as const
