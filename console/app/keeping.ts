/** What a page keeps of a stream: it grows in place, so that a long one costs no more for each piece than a short one. */
export type Keeping<Data, Value, Kept> = {
  /** With nothing in it. */
  begin(): Kept
  /** The value and cursor in what comes; undefined for a heartbeat. */
  read(data: Data): { value: Value; cursor: string | null | undefined } | undefined
  /** @param values what has come since the last frame of the screen. */
  add(kept: Kept, values: readonly Value[]): void
  /** It begins, or goes on after it was cut: what is not repeated then is incomplete. */
  cut?(kept: Kept): void
  /** Whether nothing follows it. */
  isLast?(value: Value): boolean
}
