/** The walk through skills in docs/skills.md, run as it is printed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { paste, shellBlocks } from '../../support/paste.ts'

let folder: string
let berth: Berth
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-skills-'))
  berth = await startBerth()
})
afterAll(async () => {
  await berth?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('a skill is made, described, changed, downloaded and deleted', async () => {
  const said = await paste(shellBlocks('docs/skills.md', 'Your first skill'), {
    url: berth.url,
    folder,
    env: { TOKEN: await berth.token() },
  })
  const [, , described = '', , listed = '', content = '', deleted = ''] = said
  expect(JSON.parse(described)).toMatchObject({ type: 'skill', display_name: 'minutes' })
  expect(JSON.parse(listed)).toMatchObject({
    data: [{ description: expect.stringMatching(/deadline/) }, { name: 'minutes' }],
  })
  expect(content.slice(0, 2)).toBe('PK')
  expect(JSON.parse(deleted)).toMatchObject({ type: 'skill_deleted' })
})
