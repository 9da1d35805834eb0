/** What a person can mend about a backup or a restore: shown as its sentence, exit 1. */
export class BackupError extends Error {}
