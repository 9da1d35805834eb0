/** A Berth with a worker, whose models are served by a mock of their providers. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startBerth, type Berth } from '../support/berth.ts'
import { startMockUpstream, type MockUpstream } from '../support/mock-upstream.ts'
import { writeModels } from './chat-makers.ts'

/** Both, and what stops them. */
export type MockBerth = { berth: Berth; mock: MockUpstream; stop: () => Promise<void> }

/** Starts one without VMs. @param settings environment variables besides. */
export async function startMockBerth(settings: Record<string, string> = {}): Promise<MockBerth> {
  const mock = await startMockUpstream()
  const folder = mkdtempSync(join(tmpdir(), 'berth-models-'))
  const models = writeModels(folder, mock.url)
  const berth = await startBerth({
    worker: true,
    settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100', BERTH_MODELS_FILE: models, ...settings },
  })
  return {
    berth,
    mock,
    async stop() {
      await berth.stop()
      await mock.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
