/** Limits of the roles that the owner of a database makes. */
export const databaseRoleLimits = {
  databaseRolesMax: 100, // of one database, in backups and for logins while it sleeps
  databaseRolesBytes: 192 * 1024, // of what is stored of them
} as const
