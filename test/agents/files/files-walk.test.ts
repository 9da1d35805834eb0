/** The walk through files in docs/files.md, run as it is printed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { paste, shellBlocks } from '../../support/paste.ts'

let folder: string
let berth: Berth
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-files-'))
  berth = await startBerth()
})
afterAll(async () => {
  await berth?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('a file is uploaded, described, downloaded and deleted', async () => {
  const [, described = '', content, deleted = ''] = await paste(shellBlocks('docs/files.md', 'Your first file'), {
    url: berth.url,
    folder,
    env: { TOKEN: await berth.token() },
  })
  expect(JSON.parse(described)).toMatchObject({ type: 'file', filename: 'notes.txt', mime_type: 'text/plain' })
  expect(content).toBe('The mean of nothing is nothing.\n')
  expect(JSON.parse(deleted)).toMatchObject({ type: 'file_deleted' })
})
