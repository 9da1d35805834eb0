/** Pushes as the code host sends them: signed, each with an id of its own. */
import { createHmac, randomUUID } from 'node:crypto'
import { pushShape } from './recorded.ts'

/** A commit that exists nowhere. */
export const commit = (digit: string): string => digit.repeat(40)

/** What a push says, where it is not as usual. */
export type PushGiven = {
  ref?: string
  before?: string
  after?: string
  pushedAt?: number
  repositoryId?: number
  owner?: string
  name?: string
}

/** The answer to a push. */
export type PushAnswered = {
  status: number
  body: { message: string; build_id: string | null; error?: string } | null
  headers: Headers
}

/** Signs a body as the code host does. */
export function signed(body: string, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

let moment = 1_700_000_000

/** Sends a push to the address of a webhook; each is made a second after the one before, unless it says otherwise. */
export async function sendPush(
  { url, secret }: { url: string; secret: string },
  given: PushGiven = {},
  headers: Record<string, string> = {},
): Promise<PushAnswered> {
  moment += 1
  const body = JSON.stringify(
    pushShape('http://host.berth.internal', {
      repositoryId: 5_000_000_000,
      owner: 'octocat',
      name: 'site',
      ref: 'refs/heads/main',
      before: commit('0'),
      after: commit('a'),
      pushedAt: moment,
      ...given,
    }),
  )
  return deliver({ url, secret }, body, headers)
}

/** Sends these bytes as the body of a push. */
export async function deliver(
  { url, secret }: { url: string; secret: string },
  body: string,
  headers: Record<string, string> = {},
): Promise<PushAnswered> {
  const answer = await fetch(url, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/044aadd',
      'x-github-event': 'push',
      'x-github-delivery': randomUUID(),
      'x-hub-signature-256': signed(body, secret),
      ...headers,
    },
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: text === '' ? null : (JSON.parse(text) as never) } // as documented
}
