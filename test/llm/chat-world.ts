/** A whole Berth for tests of the chat routes, and the provider behind it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeApiKey } from '#src/resources/llm/api-keys.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf } from '../support/makers.ts'
import { startMockUpstream, type MockUpstream } from '../support/mock-upstream.ts'
import { writeModels } from './chat-makers.ts'

/** A Berth whose models are served by a mock upstream, and a key of the organization `acme`. */
export type ChatWorld = { berth: Berth; mock: MockUpstream; key: string; keyId: string; owner: string; post: (path: string, body: unknown, options?: { token?: string | null; headers?: Record<string, string>; signal?: AbortSignal }) => Promise<Response>; stop: () => Promise<void> }

/** Starts one. */
export async function startChatWorld(settings: Record<string, string> = {}): Promise<ChatWorld> {
  const mock = await startMockUpstream()
  const folder = mkdtempSync(join(tmpdir(), 'berth-chat-'))
  const berth = await startBerth({ settings: { BERTH_MODELS_FILE: writeModels(folder, mock.url), ...settings } })
  const owner = await berth.token('alice', 'acme', 'owner')
  const { organizationId, userId } = idsOf(owner)
  const { key, keyId } = await makeApiKey(berth.services.db, { organizationId, createdBy: userId, name: 'chat', prefix: berth.services.config.apiKeyPrefix })
  return {
    berth, mock, key, keyId, owner,
    post: (path, body, { token = key, headers = {}, signal } = {}) => fetch(`${berth.url}/llm${path}`, {
      method: 'POST', ...(signal ? { signal } : {}), body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
    }),
    async stop() {
      await berth.stop()
      await mock.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
