/** The first answer of a subscription, and what it says. */
import type { Berth } from '../support/berth.ts'

/** An answer as GraphQL has it. */
export type FirstAnswer = {
  data?: unknown
  errors?: readonly { extensions?: Record<string, unknown>; message: string }[] | null
}

/** `200`, or status and code of the first error. */
export function told({ errors }: FirstAnswer): string {
  const { code, http } = errors?.[0]?.extensions ?? {}
  return errors?.[0] ? `${(http as { status: number } | undefined)?.status} ${String(code).toLowerCase()}` : '200'
}

/** The first answer of a subscription over server-sent events, heartbeats of the connection left out. */
export async function firstByEvents(
  { url }: Pick<Berth, 'url'>,
  document: string,
  token: string | undefined,
): Promise<FirstAnswer> {
  const leaving = new AbortController()
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    signal: leaving.signal,
    body: JSON.stringify({ query: document }),
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
  })
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return (await answer.json()) as FirstAnswer
  let read = ''
  try {
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
      read += piece
      const data = /^event: next\ndata: (.*)\n\n/m.exec(read)?.[1]
      if (data) return JSON.parse(data) as FirstAnswer
    }
    return { errors: [{ message: `ended: ${read}` }] }
  } finally {
    leaving.abort()
  }
}
