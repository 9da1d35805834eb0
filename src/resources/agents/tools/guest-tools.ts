/**
 * The tools that work inside a session's VM: each call is one process of the guest, whose id is that of the tool use.
 * Starting it again has no effect, so a worker that continues after a crash follows it, or gets its result.
 */
import { bashTool } from './bash.ts'
import { editTool, readTool, writeTool } from './files.ts'
import type { GuestTool } from './guest-shapes.ts'
import { globTool, grepTool } from './search.ts'

const guestTools: Readonly<Record<string, GuestTool>> = {
  bash: bashTool,
  read: readTool,
  write: writeTool,
  edit: editTool,
  glob: globTool,
  grep: grepTool,
}

/** The tool of this name that works in a VM. */
export function findGuestTool(name: string): GuestTool | undefined {
  return Object.hasOwn(guestTools, name) ? guestTools[name] : undefined
}
