/** Limits of groups, each with its unit in its name. */
export const groupLimits = {
  groupsMax: 1_000, // of an organization
  membersMin: 2,
  membersMax: 8,
  textLength: 32_000, // characters of a message; a longer reply is cut there
  answerLength: 8_000, // characters of an answer to a question
  reasonLength: 10_000, // characters of why a tool use is denied
  hopsMax: 8, // from one member to another after a message of the user's
  runsMax: 32, // that may come from one message of the user's
  messagesMax: 100_000, // of a group; members may still answer the last one
  pageMax: 50, // messages of a snapshot or of a page of the history
  eventsKept: 10_000, // of a group; older ones are deleted
  includedMessagesMax: 50, // that a member is told at once, the newest
  includedLength: 64_000, // characters of them together
} as const
