/** Reads the output of a guest or its QEMU line by line, within limits. */
import type { Socket } from 'node:net'

/** How long a line may be, and how much may come in a second. Unit: characters of latin1 or UTF-16. */
export type LineLimits = { lineCharacters: number; charactersPerSecond: number }

/** Calls back with each whole line; a socket that goes beyond the limits is closed. */
export function onLines(
  socket: Socket,
  { lineCharacters, charactersPerSecond }: LineLimits,
  onLine: (line: string) => void,
  encoding: 'utf8' | 'latin1' = 'utf8',
): void {
  const second = 1_000
  let rest: string[] = []
  let restCharacters = 0
  let sinceMs = performance.now()
  let heard = 0
  socket.setEncoding(encoding).on('data', (piece: string) => {
    const nowMs = performance.now()
    if (nowMs - sinceMs > second) [sinceMs, heard] = [nowMs, 0]
    heard += piece.length
    const lines = piece.split('\n')
    for (const [index, line] of lines.entries()) {
      rest.push(line)
      restCharacters += line.length
      if (restCharacters > lineCharacters || heard > charactersPerSecond) return void socket.destroy()
      if (index === lines.length - 1) return
      const whole = rest.join('')
      rest = []
      restCharacters = 0
      onLine(whole)
      if (socket.destroyed) return
    }
  })
}
