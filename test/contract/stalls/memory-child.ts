/** Reads bodies of JSON, and says how much memory the values take that were read: what is kept after the garbage is collected. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readJson } from '#src/platform/json/body.ts'
import type { JsonLimits } from '#src/platform/json/pieces.ts'
import { limits } from '#src/platform/limits.ts'
import { jsonShapes, within } from '../../support/stalls/shapes.ts'

/** Each kind of body, with its limits as the services set them. */
const kinds: Readonly<Record<string, { bytes: number; parts: number; numbers: number }>> = {
  'a request of GraphQL': { bytes: limits.graphqlBodyBytes, parts: limits.jsonParts, numbers: limits.jsonNumbers },
  'an agent': { bytes: limits.agentsBodyBytes, parts: limits.jsonParts, numbers: limits.jsonNumbers },
  'a chat': { bytes: limits.gatewayBodyBytes, parts: limits.conversationParts, numbers: limits.jsonNumbers },
  'a request of /sql': { bytes: limits.graphqlBodyBytes, parts: limits.sqlParts, numbers: limits.sqlNumbers },
}

/** What has as many parts as may be is no larger. */
const manyPartsBytes = limits.agentsBodyBytes

/** The bodies of a shape, without the texts that they were made of: as large as may be, and with as many parts. */
function bodiesOf(make: (bytes: number) => string, { bytes, ...most }: (typeof kinds)[string]): Buffer[] {
  const [large, many] = [make(bytes), within(make, Math.min(bytes, manyPartsBytes), most)]
  return [...new Set([large, many])].map((text) => Buffer.from(text))
}

const collections = 2

/** Bytes of objects, and of what is in buffers. */
async function memory(): Promise<number> {
  for (let turn = 0; turn < collections; turn++) {
    globalThis.gc?.()
    await nextTurn() // buffers are freed behind it
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** What reading a body leaves, while its value is held. */
async function read(body: Buffer, most: JsonLimits): Promise<{ kept: number; isRead: boolean }> {
  const before = await memory()
  const value = await readJson(body, most).catch(() => undefined)
  return { kept: (await memory()) - before, isRead: value !== undefined }
}

for (const [kind, most] of Object.entries(kinds))
  for (const [shape, make] of Object.entries(jsonShapes))
    for (const body of bodiesOf(make, most)) {
      const told = { kind, shape, bytes: body.length, ...(await read(body, most)) }
      process.stdout.write(`told ${JSON.stringify(told)}\n`)
    }
