/** What each interface and union of the documents may be, for the cache. Generated: npm run generate. */
export const possibleTypes = {
  "ContentBlock": [
    "DocumentBlock",
    "ImageBlock",
    "TextBlock"
  ],
  "SessionEvent": [
    "AgentCustomToolUse",
    "AgentMcpToolResult",
    "AgentMcpToolUse",
    "AgentMessage",
    "AgentThinking",
    "AgentThreadContextCompacted",
    "AgentToolResult",
    "AgentToolUse",
    "SessionDeleted",
    "SessionError",
    "SessionStatusIdle",
    "SessionStatusRescheduled",
    "SessionStatusRunning",
    "SessionStatusTerminated",
    "SessionUpdated",
    "SessionUsageReport",
    "SpanModelRequestEnd",
    "SpanModelRequestStart",
    "SpanOutcomeEvaluationEnd",
    "SpanOutcomeEvaluationStart",
    "SystemMessage",
    "UserCustomToolResult",
    "UserDefineOutcome",
    "UserInterrupt",
    "UserMessage",
    "UserToolConfirmation",
    "UserToolResult"
  ]
}
