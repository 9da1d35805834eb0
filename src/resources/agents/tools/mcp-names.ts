/** What models call the tools of tool servers (MCP). */
import { sha256 } from '#src/platform/secrets.ts'

const nameLength = 64

/** The name under which a model sees a server's tool. It never depends on what else the server lists. */
export function mcpToolName(serverName: string, name: string): string {
  const plain = `mcp__${serverName}__${name}`
  const fit = plain.replace(/[^A-Za-z0-9_-]/g, '_')
  if (fit === plain && fit.length <= nameLength) return fit
  const mark = sha256(plain).toString('hex').slice(0, 8)
  return `${fit.slice(0, nameLength - mark.length - 1)}_${mark}`
}
