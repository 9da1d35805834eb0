/** A Berth that delivers webhooks, and a small HTTP server that receives them and answers as a test says. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { sql, type RawBuilder } from 'kysely'
import type { GraphqlBody } from '../../gateway/running-app.ts'
import type { Berth } from '../../support/berth.ts'
import { until } from '../../support/until.ts'

/** What the receiver got. */
export type Received = { path: string; headers: IncomingHttpHeaders; body: string }

/** How it answers: a status, or whatever the function does. */
export type Answering = number | ((response: ServerResponse, received: Received) => void)

/** A receiver of webhooks. */
export type Receiver = {
  host: string
  url: (path: string) => string
  /** How requests to a path are answered; 200 otherwise. */
  answer: (path: string, answering: Answering) => void
  /** Everything that came to a path so far. */
  at: (path: string) => Received[]
  /** Waits until so many came to a path. */
  got: (path: string, count: number, limitMs?: number) => Promise<Received[]>
  close: () => Promise<void>
}

/** Starts a receiver on a port of its own. */
export async function startReceiver(): Promise<Receiver> {
  const answers = new Map<string, Answering>()
  const all: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const received = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() }
      all.push(received)
      const answering = answers.get(received.path) ?? 200
      if (typeof answering === 'number') response.writeHead(answering).end()
      else answering(response, received)
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const at = (path: string): Received[] => all.filter((one) => one.path === path)
  return {
    host,
    url: (path) => `http://${host}${path}`,
    answer: (path, answering) => void answers.set(path, answering),
    at,
    got: async (path, count, limitMs) => {
      await until(`${count} webhooks at ${path}`, () => at(path).length >= count, limitMs, 10)
      return at(path)
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** What Anthropic's client reads out of a webhook, after it has checked its signature. */
export function unwrap({ body, headers }: Received, key: string) {
  return new Anthropic({ apiKey: 'none' }).beta.webhooks.unwrap(body, {
    headers: headers as Record<string, string>,
    key,
  })
}

const endpointFields =
  'id url description eventTypes enabled disabledReason disabledAt failuresInARow lastProblem heldUntil previousSecretUntil createdBy { id } organization { name }'
const deliveryFields =
  'id status attemptCount nextAttemptAt responseStatus problem finishedAt replayedAt event { id type subjectId body } endpoint { id } attempts { number startedAt durationMs responseStatus problem answer }'

/** An endpoint as GraphQL shows it. */
export type ShownEndpoint = {
  id: string
  url: string
  description: string | null
  eventTypes: string[] | null
  enabled: boolean
  disabledReason: string | null
  failuresInARow: number
  lastProblem: string | null
  heldUntil: string | null
  previousSecretUntil: string | null
}
/** A delivery as GraphQL shows it. */
export type ShownDelivery = {
  id: string
  status: 'PENDING' | 'SUCCEEDED' | 'FAILED'
  attemptCount: number
  nextAttemptAt: string | null
  responseStatus: number | null
  problem: string | null
  event: { id: string; type: string; subjectId: string; body: string }
  attempts: {
    number: number
    startedAt: string
    responseStatus: number | null
    problem: string | null
    answer: string | null
  }[]
}

/** What a person does with webhooks. */
export function webhooksOf(berth: Berth, token: string) {
  const ask = async (query: string, variables: unknown = {}): Promise<GraphqlBody> =>
    (await berth.ask(query, { token, variables })).body
  const done = async <Data>(query: string, variables: unknown = {}): Promise<Data> => {
    const { data, errors } = await ask(query, variables)
    if (errors || !data) throw new Error(errors?.map(({ message }) => message).join(' '))
    return data as Data
  }
  return {
    ask,
    done,
    create: async (input: object) =>
      (
        await done<{ made: { webhookEndpoint: ShownEndpoint; secret: string } }>(
          `mutation ($input: CreateWebhookEndpointInput!) { made: createWebhookEndpoint(input: $input) { secret webhookEndpoint { ${endpointFields} } } }`,
          { input },
        )
      ).made,
    update: async (input: object) =>
      (
        await done<{ made: { webhookEndpoint: ShownEndpoint } }>(
          `mutation ($input: UpdateWebhookEndpointInput!) { made: updateWebhookEndpoint(input: $input) { webhookEndpoint { ${endpointFields} } } }`,
          { input },
        )
      ).made.webhookEndpoint,
    rotate: async (input: object) =>
      (
        await done<{ made: { webhookEndpoint: ShownEndpoint; secret: string } }>(
          `mutation ($input: RotateWebhookEndpointSecretInput!) { made: rotateWebhookEndpointSecret(input: $input) { secret webhookEndpoint { ${endpointFields} } } }`,
          { input },
        )
      ).made,
    remove: (id: string) =>
      done(`mutation ($id: ID!) { deleteWebhookEndpoint(input: { id: $id }) { deletedId } }`, { id }),
    test: async (id: string) =>
      (
        await done<{ made: { webhookDelivery: ShownDelivery } }>(
          `mutation ($id: ID!) { made: sendTestWebhookEvent(input: { id: $id }) { webhookDelivery { ${deliveryFields} } } }`,
          { id },
        )
      ).made.webhookDelivery,
    replay: async (id: string) =>
      (
        await done<{ made: { webhookDelivery: ShownDelivery } }>(
          `mutation ($id: ID!) { made: replayWebhookDelivery(input: { id: $id }) { webhookDelivery { ${deliveryFields} } } }`,
          { id },
        )
      ).made.webhookDelivery,
    endpoint: async (id: string) =>
      (
        await done<{ webhookEndpoint: ShownEndpoint }>(
          `query ($id: ID!) { webhookEndpoint(id: $id) { ${endpointFields} } }`,
          { id },
        )
      ).webhookEndpoint,
    deliveries: async (id: string, filter: object = {}) =>
      (
        await done<{ webhookEndpoint: { deliveries: { nodes: ShownDelivery[]; totalCount: number } } }>(
          `query ($id: ID!, $filter: WebhookDeliveryFilter) { webhookEndpoint(id: $id) { deliveries(filter: $filter) { totalCount nodes { ${deliveryFields} } } } }`,
          { id, filter },
        )
      ).webhookEndpoint.deliveries,
    delivery: async (id: string) =>
      (
        await done<{ webhookDelivery: ShownDelivery }>(
          `query ($id: ID!) { webhookDelivery(id: $id) { ${deliveryFields} } }`,
          { id },
        )
      ).webhookDelivery,
  }
}

/** Runs a statement where time would have to pass. */
export async function alter(berth: Berth, statement: RawBuilder<unknown>): Promise<void> {
  await statement.execute(berth.services.db)
}

/** Makes everything that waits for an endpoint due now. */
export async function hurry(berth: Berth): Promise<void> {
  await alter(berth, sql`update webhook_endpoints set held_until = null`)
  await alter(
    berth,
    sql`update webhook_deliveries set next_attempt_at = now() where status = 'pending' and claimed_until is null`,
  )
  await alter(berth, sql`select pg_notify('berth', 'webhook all')`)
}
