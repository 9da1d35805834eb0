/** The shapes of tools that work inside a session's VM. */
import type { ToolResult } from './results.ts'

/** A checked input of a tool. */
export type ToolInput = Readonly<Record<string, unknown>>

/** A process of the guest. With `timeoutMs` over it is killed, with all that came of it. */
export type GuestOrder = { argv: readonly string[]; timeoutMs: number }

/** How it ended: the beginning and the end of what it printed. */
export type GuestEnd = { exitCode: number; timedOut: boolean; stdout: string; stderr: string }

/** Where a session's commands run: the file in the guest that remembers the folder they ended in. */
export type GuestPlace = { folderFile: string }

/** One tool: what it runs, or at once what is wrong with the call; and what its end means. */
export type GuestTool = {
  order(input: ToolInput, place: GuestPlace): GuestOrder | ToolResult
  result(end: GuestEnd, input: ToolInput, timeoutMs: number): ToolResult
}
