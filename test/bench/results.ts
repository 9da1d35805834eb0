/** RESULTS.md: one section for each benchmark, rewritten when that benchmark ran. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { now, timestamp } from '#src/platform/clock.ts'
import { readConfig } from '#src/platform/config.ts'
import { postgresFolder } from '#src/start/postgres-binaries.ts'
import type { Benchmark, Findings, Table } from './benchmark.ts'

const file = fileURLToPath(new URL('RESULTS.md', import.meta.url))
const preface = `# Results

Written by \`npm run bench\`; see run.ts. Every figure stands beside a peer or a floor of the same run: candidates take turns
within a round, the order rotates, and a ratio is the median of the rounds' own ratios. Absolute figures are this machine's.
`

/** The machine in one sentence: nothing that names it. */
export async function describeMachine(): Promise<string> {
  const { stdout } = await promisify(execFile)(join(postgresFolder(readConfig().cacheDir), 'bin/postgres'), [
    '--version',
  ])
  const memoryGb = Math.round(totalmem() / 1024 ** 3)
  return `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${memoryGb} GB, Linux ${release()}, Node ${process.versions.node}, Postgres ${/[\d.]+/.exec(stdout)?.[0] ?? 'unknown'}`
}

/** The section of one benchmark as markdown. */
export function render(benchmark: Benchmark, { how, tables, goals }: Findings, machine: string): string {
  const parts = [
    `## ${benchmark.title} (\`npm run bench -- ${benchmark.name}\`)`,
    `${timestamp(now()).slice(0, 10)} · ${machine} · load average ${loadavg()[0]?.toFixed(1) ?? '?'} at the end.`,
    how,
  ]
  for (const table of tables) parts.push(`### ${table.title}`, renderTable(table))
  if (goals.length > 0)
    parts.push(
      '### Goals',
      renderTable({
        title: '',
        columns: ['goal', 'wanted', 'measured', ''],
        rows: goals.map((goal) => [
          goal.what,
          goal.wanted,
          goal.measured,
          goal.met === null ? 'not measured' : goal.met ? 'met' : '**missed**',
        ]),
      }),
    )
  return `${parts.join('\n\n')}\n`
}

/** Puts the section in the place of the one before, or at the end. */
export function writeSection(name: string, section: string): void {
  const [begin, end] = [`<!-- ${name} -->\n`, `<!-- /${name} -->\n`]
  const text = existsSync(file) ? readFileSync(file, 'utf8') : preface
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  const block = begin + section + end
  writeFileSync(
    file,
    from < 0 || to < 0 ? `${text}\n${block}` : text.slice(0, from) + block + text.slice(to + end.length),
  )
}

function renderTable({ columns, rows }: Table): string {
  const widths = columns.map((column, at) => Math.max(3, column.length, ...rows.map((row) => (row[at] ?? '').length)))
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, at) => (cells[at] ?? '').padEnd(width)).join(' | ')} |`
  return [line(columns), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
