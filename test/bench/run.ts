/**
 * `npm run bench [-- name …] [--quick]`: measures, prints the tables, and rewrites the measured sections of RESULTS.md.
 * `--quick` tries the benchmarks out: short, and nothing is written. Exit 1 when a goal is missed.
 */
import { parseArgs } from 'node:util'
import { setLogLevel } from '#src/platform/log.ts'
import type { Benchmark, Effort } from './benchmark.ts'
import { describeMachine, render, writeSection } from './results.ts'
import { buildLogs } from './build-logs.ts'
import { builds } from './builds.ts'
import { chats } from './chats.ts'
import { programs } from './clients/programs.ts'
import { longPages } from './console/long.ts'
import { consolePages } from './console/pages.ts'
import { terminals } from './console/terminals.ts'
import { databases } from './databases.ts'
import { jobs } from './jobs.ts'
import { functions } from './edge/functions.ts'
import { ingress } from './edge/ingress.ts'
import { strangers } from './edge/strangers.ts'
import { graphql } from './graphql.ts'
import { chatFormats } from './llm/formats.ts'
import { notices } from './platform/notices.ts'
import { memories } from './agents/memories.ts'
import { triggers } from './agents/triggers.ts'
import { postgres } from './postgres.ts'
import { runStreams } from './agents/run-streams.ts'
import { schedules } from './agents/schedules.ts'
import { sessionSteps } from './session-steps.ts'
import { sessions } from './sessions.ts'
import { streams } from './streams.ts'
import { vmFiles } from './vms/files.ts'
import { vms } from './vms.ts'

const benchmarks: readonly Benchmark[] = [
  graphql,
  jobs,
  streams,
  notices,
  buildLogs,
  sessions,
  sessionSteps,
  schedules,
  memories,
  triggers,
  runStreams,
  vms,
  vmFiles,
  databases,
  builds,
  chats,
  consolePages,
  longPages,
  terminals,
  programs,
  chatFormats,
  postgres,
  strangers,
  ingress,
  functions,
]
const full: Effort = { quick: false, rounds: 7, secondsPerRound: 4 }
const quick: Effort = { quick: true, rounds: 2, secondsPerRound: 1 }

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const unknown = positionals.filter((name) => !benchmarks.some((one) => one.name === name))
if (unknown.length > 0) {
  say(`There is no benchmark ${unknown.join(', ')}; there are: ${benchmarks.map((one) => one.name).join(', ')}.`)
  process.exit(2)
}
setLogLevel('error')
const machine = await describeMachine()
let missed = 0
for (const benchmark of benchmarks.filter((one) => positionals.length === 0 || positionals.includes(one.name))) {
  say(`\n${benchmark.title} …`)
  const findings = await benchmark.measure(values.quick ? quick : full, (line) => say(`  ${line}`))
  const section = render(benchmark, findings, machine)
  say(`\n${section}`)
  if (!values.quick) writeSection(benchmark.name, section)
  missed += findings.goals.filter((goal) => goal.met === false).length
}
process.exit(missed > 0 && !values.quick ? 1 : 0)
