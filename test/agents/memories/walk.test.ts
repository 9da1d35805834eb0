/** The walk of docs/memories.md, run as it is printed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { paste, shellBlocks } from '../../support/paste.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth({
    worker: true,
    settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100', BERTH_MEMORY_MODEL: 'berth/demo-embeddings' },
  })
})
afterAll(() => berth?.stop())

test('a memory is kept, changed, found, used by an agent, and deleted, as docs/memories.md prints it', async () => {
  const printed = await paste(shellBlocks('docs/memories.md'), {
    url: berth.url,
    env: { TOKEN: await berth.token() },
  })
  const [, changed, searched, recalled, , streamed, off, on, deleted] = printed
  expect(JSON.parse(changed ?? '')).toMatchObject({ revision: 2, body: expect.stringContaining('without greetings') })
  expect(JSON.parse(searched ?? '')).toMatchObject({ data: [{ revision: 2 }], has_more: false })
  expect(JSON.parse(recalled ?? '')).toEqual({
    data: { recallMemories: [{ body: 'Answer in one sentence, without greetings.', category: 'PREFERENCE' }] },
  })
  expect(streamed).toMatch(/Kept as mem_/)
  expect(streamed).toMatch(/\\"written_by\\":\\"an agent\\",.*\\"body\\":\\"The mean is in mean\.py\.\\"/)
  expect(JSON.parse(off ?? '')).toEqual({ use_memories: false })
  expect(JSON.parse(on ?? '')).toEqual({ use_memories: true })
  expect(deleted?.trim()).toBe('')
})
