/** What docs/models.md says holds as it is printed: the operator's file, and the script that drives an agent through a task. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '#src/platform/config.ts'
import { modelTable } from '#src/resources/llm/models/table.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeKey } from '../support/makers.ts'

const document = readFileSync(new URL('../../docs/models.md', import.meta.url), 'utf8')
const blockAfter = (heading: string, fence: string): string =>
  new RegExp(`\\n${heading}\\n[^]*?\\n\`\`\`${fence}\\n([^]*?)\`\`\``).exec(document)?.[1] ?? ''

let folder: string
let berth: Berth
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-models-'))
  berth = await startBerth()
})
afterAll(async () => {
  await berth.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('the operator’s file is right, and falls back in its order', () => {
  const file = join(folder, 'models.yaml')
  writeFileSync(file, blockAfter('## Models of your own', 'yaml'))
  const { models } = modelTable(readConfig({ BERTH_MODELS_FILE: file, OPENAI_API_KEY: 'sk-for-a-test' }))
  expect(
    models.get('local/llama')?.upstreams.map(({ kind, target }) => [kind, target.slug, target.upstreamModel]),
  ).toEqual([
    ['openai-compatible', 'ollama', 'llama3.2'],
    ['openai', 'openai', 'gpt-4o-mini'],
  ])
  expect(models.get('openai/gpt-4o-mini')?.pricing).toEqual({
    inputNanoUsd: 150,
    outputNanoUsd: 600,
    cacheReadNanoUsd: 75,
    cacheWriteNanoUsd: 150,
  })
})

test('the script drives an agent through its task: test, edit, test again, report', async () => {
  const project = mkdtempSync(join(folder, 'project-'))
  writeFileSync(join(project, 'operators.js'), 'exports.plus = (a, b) => a + b\nexports.minus = (a, b) => a - b\n')
  writeFileSync(join(project, 'sum.js'), "exports.sum = require('./operators.js').minus\n")
  writeFileSync(
    join(project, 'sum.test.js'),
    "require('node:test')('sum', () => require('node:assert').strictEqual(require('./sum.js').sum(2, 2), 4))\n",
  )
  const bash = (command: string): Promise<{ code: number; text: string }> =>
    new Promise((resolve) => {
      // The tests' own reporter channel must not reach the tests of the project.
      execFile(
        'bash',
        ['-c', `unset NODE_TEST_CONTEXT NODE_OPTIONS; ${command.replaceAll('node ', `${process.execPath} `)}`],
        { cwd: project },
        (error, stdout) => resolve({ code: error ? 1 : 0, text: stdout }),
      )
    })
  const script = blockAfter('## The built-in demo model', '')
  const owner = await berth.token('alice', 'acme', 'owner')
  const { key } = await makeKey(berth, owner)
  const client = new OpenAI({ apiKey: key, baseURL: `${berth.url}/llm/v1` })
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: script }]
  const codes: number[] = []
  const said: string[] = []
  const stepsMax = 10
  for (let step = 0; step < stepsMax; step++) {
    const stream = client.chat.completions.stream({
      model: 'berth/demo',
      messages,
      reasoning_effort: 'low',
      tools: [
        {
          type: 'function',
          function: {
            name: 'bash',
            parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
          },
        },
      ],
    })
    const { message, finish_reason: reason } = (await stream.finalChatCompletion()).choices[0]!
    messages.push(message)
    if (message.content) said.push(message.content)
    if (reason !== 'tool_calls') break
    for (const call of message.tool_calls ?? []) {
      const { command } = JSON.parse('function' in call ? call.function.arguments : '{}') as { command: string } // the script's own
      const { code, text } = await bash(command)
      codes.push(code)
      messages.push({ role: 'tool', tool_call_id: call.id, content: text })
    }
  }
  expect(codes).toEqual([1, 0])
  expect(said).toEqual(['I run the test first.', 'Fixed: the test passes now.'])
  expect(readFileSync(join(project, 'sum.js'), 'utf8')).toContain('.plus')
})
