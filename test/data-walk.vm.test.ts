/** The template `data`: the walk of docs/data.md, run as it is printed, and all that it has. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from './support/berth.ts'
import { paste, shellBlocks } from './support/paste.ts'

let berth: Berth
let folder: string
let token: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-data-'))
  berth = await startBerth({ worker: true, pool: 0 })
  token = await berth.token()
  await berth.worker?.compute?.prepareLater('data') // test/run.ts has built it: only the snapshot is missing
}, 600_000)
afterAll(async () => {
  await berth?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('pandas reads a table, matplotlib draws it without a warning, a kernel keeps its state, and the rest imports', async () => {
  const all = `curl -s "http://localhost:4000/api/v1/vms/$VM/envd/exec" -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
    -d '{"command": "python3 -c \\"import numpy, openpyxl, scipy.stats\\""}'
`
  const blocks = shellBlocks('docs/data.md')
  const printed = await paste([...blocks.slice(0, -1), all, ...blocks.slice(-1)], {
    url: berth.url,
    folder,
    env: { TOKEN: token },
  })
  const [, , ran = '', sandbox = '', , asked = '', imported = ''] = printed
  const quietly = { exit_code: 0, stderr: '' }
  expect(JSON.parse(ran)).toMatchObject({ ...quietly, stdout: expect.stringMatching(/mean +120\.0/) })
  const picture = readFileSync(join(folder, 'sales.png'))
  expect(picture.subarray(0, 8)).toEqual(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))
  expect(picture.length).toBeGreaterThan(5_000)
  expect(JSON.parse(sandbox)).toMatchObject({ command: { ...quietly, stdout: '5.0\n' } })
  expect(asked).toContain('"stdout":"360\\n"')
  expect(JSON.parse(imported)).toMatchObject({ ...quietly, stdout: '' })
}, 600_000)
