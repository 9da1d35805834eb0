/** The shapes of tools that work inside a session's VM. */
import type { ToolResult } from './results.ts'

/** A checked input of a tool. */
export type ToolInput = Readonly<Record<string, unknown>>

/** A process to run in the guest. After `timeoutMs` it is killed with everything it started. */
export type GuestOrder = { argv: readonly string[]; timeoutMs: number }

/** How it ended: the beginning and the end of what it printed. */
export type GuestEnd = { exitCode: number; timedOut: boolean; stdout: string; stderr: string }

/** Where a session's commands run: the file in the guest that stores the folder in which the last one ended. */
export type GuestPlace = { folderFile: string }

/** One tool: the process to run, or an immediate error about the call; and the result that the process's end means. */
export type GuestTool = {
  order(input: ToolInput, place: GuestPlace): GuestOrder | ToolResult
  result(end: GuestEnd, input: ToolInput, timeoutMs: number): ToolResult
}
