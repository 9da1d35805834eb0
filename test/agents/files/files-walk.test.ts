/** The walk through files in docs/files.md, run as it is printed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { paste, shellBlocks } from '../../support/paste.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
})
afterAll(() => berth?.stop())

test('a file is uploaded, described, downloaded and deleted', async () => {
  const [, described = '', content, deleted = ''] = await paste(shellBlocks('docs/files.md', 'Your first file'), {
    url: berth.url,
    env: { TOKEN: await berth.token() },
  })
  expect(JSON.parse(described)).toMatchObject({ type: 'file', filename: 'notes.txt', mime_type: 'text/plain' })
  expect(content).toBe('The mean of nothing is nothing.\n')
  expect(JSON.parse(deleted)).toMatchObject({ type: 'file_deleted' })
})

test('a session is given a file and a repository, which are listed; a token is replaced, and a repository taken away', async () => {
  const token = await berth.token()
  const [, listed = '', replaced = '', taken = ''] = await paste(
    shellBlocks('docs/files.md', 'Mount a file in a session'),
    { url: berth.url, env: { TOKEN: token } },
  )
  const { data } = JSON.parse(listed) as { data: { id: string }[] }
  expect(data).toMatchObject([
    { type: 'file', mount_path: '/workspace/visits.csv' },
    { type: 'github_repository', mount_path: '/workspace/Hello-World', checkout: null },
  ])
  expect(JSON.parse(replaced)).toMatchObject({ id: data[1]?.id, url: 'https://github.com/octocat/Hello-World' })
  expect(taken.trim()).toBe('')
})
