/** A whole Berth for tests of the chat routes, and the provider behind it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeKey } from '../support/makers.ts'
import { startMockUpstream, type MockUpstream } from '../support/mock-upstream.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { writeModels } from './chat-makers.ts'

/** A Berth whose models are served by a mock upstream, and a key of the organization `acme`. */
export type ChatWorld = {
  berth: Berth
  mock: MockUpstream
  key: string
  keyId: string
  owner: string
  post: (
    path: string,
    body: unknown,
    options?: { token?: string | null; headers?: Record<string, string>; signal?: AbortSignal },
  ) => Promise<Response>
  stop: () => Promise<void>
}

/** Starts one, on a Postgres of its own when one is given. @param settings environment variables besides. */
export async function startChatWorld(on?: TestPostgres, settings: Record<string, string> = {}): Promise<ChatWorld> {
  const mock = await startMockUpstream()
  const folder = mkdtempSync(join(tmpdir(), 'berth-chat-'))
  const berth = await startBerth({
    settings: { BERTH_MODELS_FILE: writeModels(folder, mock.url), ...settings },
    ...(on ? { on } : {}),
  })
  const owner = await berth.token('alice', 'acme', 'owner')
  const { key, keyId } = await makeKey(berth, owner)
  return {
    berth,
    mock,
    key,
    keyId,
    owner,
    post: (path, body, { token = key, headers = {}, signal } = {}) =>
      fetch(`${berth.url}/llm${path}`, {
        method: 'POST',
        ...(signal ? { signal } : {}),
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: {
          'content-type': 'application/json',
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
      }),
    async stop() {
      await berth.stop()
      await mock.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
