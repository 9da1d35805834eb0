/** A failure of a backup or restore that a person can fix: its sentence is shown alone, exit 1. */
export class BackupError extends Error {}
