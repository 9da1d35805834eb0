/** The walk through skills in docs/skills.md, run as it is printed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { paste, shellBlocks } from '../../support/paste.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
})
afterAll(() => berth?.stop())

test('a skill is made, described, changed, downloaded and deleted', async () => {
  const said = await paste(shellBlocks('docs/skills.md', 'Your first skill'), {
    url: berth.url,
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
