/** The walk of docs/groups.md, run as it is printed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { paste, shellBlocks } from '../../support/paste.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
})
afterAll(() => berth?.stop())

test('a group is made, asked, answers itself and asks back, as docs/groups.md prints it', async () => {
  const blocks = shellBlocks('docs/groups.md')
  const streaming = shellBlocks('docs/groups-streams.md', 'Follow a run')
  const printed = await paste([...blocks.slice(0, -1), ...streaming, ...blocks.slice(-1)], {
    url: berth.url,
    env: { TOKEN: await berth.token() },
  })
  const [, , sent, group, answered, ended, streamed, deleted] = printed
  expect(JSON.parse(sent ?? '')).toMatchObject({
    message: { sequence: 1 },
    runs: [{ status: expect.stringMatching(/^(?:queued|running)$/) }],
  })
  const { transcript, group: shown } = JSON.parse(group ?? '') as {
    transcript: { author: { handle: string }; text: string }[]
    group: { name: string }
  }
  expect(shown.name).toBe('a change')
  expect(transcript.map(({ author, text }) => `${author.handle}: ${text}`)).toEqual([
    'user: @coder Please fix the typo.',
    'coder: It is done. Please look at it, @reviewer',
    'reviewer: It looks good to me.',
  ])
  const [asking, after] = (answered ?? '')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { pending_questions: object[] })
  expect(asking?.pending_questions).toMatchObject([{ question: 'The red one or the blue one?' }])
  expect(after?.pending_questions).toEqual([])
  expect(JSON.parse(ended ?? '')).toMatchObject({ status: 'completed', reply: { text: 'So be it.' } })
  expect(streamed).toMatch(/"text-delta".*"text-delta"[^]*"finish"[^]*data: \[DONE\]/s)
  expect(deleted?.trim()).toBe('')
})
