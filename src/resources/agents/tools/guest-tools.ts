/**
 * The tools that work inside a session's VM: each call is one process of the guest, whose id is that of the tool use.
 * Starting it again starts nothing, so whoever goes on after a crash follows it, or takes what it ended with.
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
