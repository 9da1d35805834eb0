/** A reason not to start that a person can fix: its sentence is shown alone, where a bug shows its stack. */
export class StartError extends Error {
  override readonly name = 'StartError'
}
