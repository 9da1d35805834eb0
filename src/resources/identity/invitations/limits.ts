/** Limits of invitations. */

/** Limits of invitations. */
export const invitationLimits = {
  openMax: 200, // of an organization, that nobody has accepted yet
  validDays: 7,
  keptDays: 30, // after they expired, also those that were accepted
  noteLength: 255, // characters
  emailLength: 254, // characters of an address, as SMTP has it
  mailsPerMinute: 10, // invitations that an organization sends by e-mail
  mailAttemptsMax: 10, // to send one; some three hours
  mailAgainSecondsMax: 3600, // between two attempts; 30 before the second, and twice as long each time
} as const
