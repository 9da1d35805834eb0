/**
 * The dashboard and the alerts of deploy/ against the metrics of a real Berth: every name is there, every alert leads to its
 * runbook. Where promtool is installed (Debian's package prometheus), it checks the rules, and some alerts by examples.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { register } from 'prom-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { reportGivenCertificate } from '#src/edge/postgres/logins/certificates.ts'
import '#src/edge/http/metrics.ts'
import '#src/edge/postgres/metrics.ts'
import { anchorOf } from '#src/guide/sections.ts'
import { watchStalls } from '#src/platform/metrics/stalls.ts'
import { reportMachines } from '#workers/infra/machine-metrics.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { startCommand, type Command } from '../support/command.ts'
import { freePort } from '../support/ports.ts'
import { root } from '../architecture/sources.ts'
import { readExpression } from './promql.ts'

type Panel = {
  id: number
  type: string
  title: string
  description?: string
  datasource?: { uid: string }
  gridPos: { x: number; y: number; w: number; h: number }
  fieldConfig?: { defaults: { unit?: string } }
  targets?: { expr: string; datasource: { uid: string }; legendFormat: string }[]
}
type Dashboard = {
  schemaVersion: number
  templating: { list: { name: string; type: string; query: string }[] }
  panels: Panel[]
}
type Rule = {
  alert: string
  expr: string
  for: string
  labels: { severity: string }
  annotations: { summary: string; runbook_url: string }
}
type Scrape = {
  global: { external_labels: Record<string, string> }
  scrape_configs: { job_name: string; static_configs: { labels: Record<string, string> }[] }[]
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const dashboard = JSON.parse(read('deploy/grafana/berth.json')) as Dashboard
const rules = (parse(read('deploy/prometheus/alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
)
const scraping = parse(read('deploy/prometheus/prometheus.yaml')) as Scrape
const panels = dashboard.panels.filter(({ type }) => type !== 'row')
const expressions = [
  ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...rules.map(({ expr }) => expr),
]
/** What Prometheus adds to each sample. */
const ofTargets = [
  'job',
  'instance',
  ...scraping.scrape_configs.flatMap((one) => Object.keys(one.static_configs[0]?.labels ?? {})),
]

let berth: Berth
let dataDir: string
const started: Command[] = []
/** The metrics of the three processes: the type of each by its name. */
const declared = new Map<string, string>()
/** The labels of each, as the code declares them. */
const labelsOf = new Map<string, readonly string[]>()

beforeAll(async () => {
  berth = await startBerth()
  dataDir = mkdtempSync(join(tmpdir(), 'berth-monitoring-'))
  chmodSync(dataDir, 0o711)
  const ports = [await freePort(), await freePort(), await freePort()]
  const settings = {
    PORT: String(await freePort()),
    BERTH_POSTGRES_PORT: String(await freePort()),
    BERTH_HTTP_PORT: String(await freePort()),
    BERTH_HTTPS_PORT: String(await freePort()),
    BERTH_DATA_DIR: dataDir,
    BERTH_VMS: 'off',
    DATABASE_URL: berth.services.database.url,
    BERTH_METRICS_PORT: String(ports[0]),
    BERTH_WORKER_METRICS_PORT: String(ports[1]),
    BERTH_EDGE_METRICS_PORT: String(ports[2]),
  }
  for (const main of ['src/gateway/main.ts', 'workers/main.ts', 'src/edge/main.ts'])
    started.push(startCommand([main], settings))
  const lines = [/the web process listens/, /runs no VMs/, /the ingress listens/]
  for (const [at, { line }] of started.entries()) await line(lines[at] ?? /./, 0, 60_000)
  for (const port of ports) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    for (const [, name = '', type = ''] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) declared.set(name, type)
  }
  reportMachines(null, { vmPoolSize: 0 })
  reportGivenCertificate(null)
  watchStalls()
  for (const { name, labelNames = [] } of register.getMetricsAsArray() as unknown as {
    name: string
    labelNames?: string[] // what the library's types leave out
  }[])
    labelsOf.set(name, labelNames)
}, 120_000)
afterAll(async () => {
  for (const { child, ended } of started) {
    child.kill('SIGKILL')
    await ended
  }
  await berth.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

/** The metric to which a series belongs: those of histograms and summaries have three endings. */
function metricOf(series: string): string | undefined {
  if (declared.has(series)) return series
  const [, base = ''] = /^(.*)_(?:bucket|count|sum)$/.exec(series) ?? []
  return ['histogram', 'summary'].includes(declared.get(base) ?? '') ? base : undefined
}

/** What is wrong with the names of an expression. */
function faultsOf(expression: string): string[] {
  const { selected, grouped } = readExpression(expression)
  return selected.flatMap(({ metric, labels }) => {
    if (metric === 'up') return [] // Prometheus' own
    const known = metricOf(metric)
    if (known === undefined) return [`${metric} is not a metric: ${expression}`]
    const has = [...(labelsOf.get(known) ?? []), ...ofTargets, ...(metric.endsWith('_bucket') ? ['le'] : [])]
    return [...labels, ...grouped]
      .filter((label) => !has.includes(label))
      .map((label) => `${metric} has no label ${label}: ${expression}`)
  })
}

test('every metric and label that a panel or an alert asks for is one that a running Berth declares', () => {
  expect(expressions.length).toBeGreaterThan(80)
  expect(expressions.flatMap((one) => readExpression(one).selected).length).toBeGreaterThan(100)
  expect(expressions.flatMap(faultsOf)).toEqual([])
  // What it looks for is found.
  expect(faultsOf('max by (node) (berth_node_upp)')).toEqual([
    expect.stringContaining('berth_node_upp is not a metric'),
  ])
  expect(faultsOf('sum by (stat) (rate(berth_vms{colour=~"a|b", status="x"}[5m])) > 1')).toEqual([
    expect.stringContaining('berth_vms has no label colour'),
    expect.stringContaining('berth_vms has no label stat:'),
  ])
  expect(faultsOf('berth_vms_count / on (instance) up')).toEqual([expect.stringContaining('berth_vms_count is not')])
})

test('the reference has every metric of the three processes, with its labels, and no other', () => {
  const rows = [...read('docs/reference/metrics.md').matchAll(/^\| (`berth_[^|]*) \| ([^|]*)\|/gm)]
  const documented = rows.flatMap(([, names = '', labels = '']) =>
    [...names.matchAll(/`(berth_\w+)`/g)].map(([, name = '']) => ({ name, labels })),
  )
  const ours = [...declared.keys()].filter((name) => name.startsWith('berth_'))
  expect(ours.length).toBeGreaterThan(50)
  expect(documented.map(({ name }) => name).toSorted()).toEqual(ours.toSorted())
  const unsaid = documented.flatMap(({ name, labels }) =>
    (labelsOf.get(name) ?? []).filter((label) => !labels.includes(`\`${label}\``)).map((label) => `${name}: ${label}`),
  )
  expect(unsaid).toEqual([])
})

describe('the dashboard', () => {
  test('asks the Prometheus that is chosen, and each panel says what it shows and in which unit', () => {
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(39)
    expect(dashboard.templating.list).toContainEqual(
      expect.objectContaining({ name: 'datasource', type: 'datasource', query: 'prometheus' }),
    )
    const units = ['short', 's', 'bytes', 'percentunit', 'reqps', 'ops']
    const faults = panels.filter(
      ({ description = '', datasource, fieldConfig, targets = [] }) =>
        !/^[A-Z0-9].*\.$/.test(description) ||
        !units.includes(fieldConfig?.defaults.unit ?? '') ||
        targets.length === 0 ||
        [datasource, ...targets.map((one) => one.datasource)].some((one) => one?.uid !== '${datasource}'),
    )
    expect(faults.map(({ title }) => title)).toEqual([])
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  })

  test('has no two panels in one place', () => {
    const taken = new Set<string>()
    const twice = dashboard.panels.flatMap(({ title, gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`)
        .filter((cell) => taken.has(cell) || !taken.add(cell))
        .map(() => title),
    )
    expect(twice).toEqual([])
  })
})

describe('an alert', () => {
  const runbooks = read('docs/reference/runbooks.md')
  const sections = new Map(
    runbooks.split(/^## /m).map((text) => [anchorOf(text.split('\n', 1)[0] ?? '', new Map()), text] as const),
  )

  test('waits, has a severity, says in one sentence what is wrong, and leads to a runbook that names it', () => {
    expect(rules.length).toBeGreaterThan(20)
    const faults = rules.filter(({ alert, for: wait, labels, annotations: { summary, runbook_url: url } }) => {
      const [, anchor = ''] = /^\{\{ \$externalLabels\.runbooks \}\}#([a-z-]+)$/.exec(url) ?? []
      return (
        !/^Berth[A-Za-z]+$/.test(alert) ||
        !/^\d+[mh]$/.test(wait) ||
        !['critical', 'warning'].includes(labels.severity) ||
        !/^[^\n]+[^.\n]\.$/.test(summary) ||
        !sections.get(anchor)?.includes(`\`${alert}\``)
      )
    })
    expect(faults.map(({ alert }) => alert)).toEqual([])
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
    expect(scraping.global.external_labels['runbooks']).toMatch(/\/guide\/reference\/runbooks$/)
  })

  test('that a runbook names is there', () => {
    const named = [...runbooks.matchAll(/`(Berth[A-Z][A-Za-z]+)`/g)].map(([, name = '']) => name)
    const known = new Set(rules.map(({ alert }) => alert))
    expect(named.filter((name) => !known.has(name))).toEqual([])
  })
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
describe.skipIf(!hasPromtool)('promtool', () => {
  const promtool = (...words: string[]): string =>
    execFileSync('promtool', words, { cwd: join(root, 'deploy/prometheus'), encoding: 'utf8', stdio: 'pipe' })

  test('finds nothing wrong with the rules, the example of scraping, and the expressions of the dashboard', () => {
    expect(promtool('check', 'rules', 'alerts.yaml')).toContain(`${rules.length} rules found`)
    expect(promtool('check', 'config', 'prometheus.yaml')).toContain('SUCCESS')
    const file = join(dataDir, 'dashboard-rules.json')
    const recorded = expressions.map((expr, at) => ({
      record: `panel:${at}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }))
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: recorded }] }))
    expect(promtool('check', 'rules', file)).toContain(`${recorded.length} rules found`)
  })

  test('sees alerts fire, and not before their time', () => {
    const series = (name: string, values: string) => ({ series: name, values })
    const firing = (alertname: string, labels: Record<string, string>, at: string, isFiring: boolean) => {
      const rule = rules.find(({ alert }) => alert === alertname)
      return {
        eval_time: at,
        alertname,
        exp_alerts: isFiring
          ? [{ exp_labels: { ...rule?.labels, ...labels }, exp_annotations: expectedOf(rule, labels) }]
          : [],
      }
    }
    const expectedOf = (rule: Rule | undefined, labels: Record<string, string>): Record<string, string> => ({
      summary: (rule?.annotations.summary ?? '').replaceAll(
        /\{\{ \$labels\.(\w+) \}\}/g,
        (_, name: string) => labels[name] ?? '',
      ),
      runbook_url: (rule?.annotations.runbook_url ?? '').replace('{{ $externalLabels.runbooks }}', 'https://books'),
    })
    const disk = { folder: 'data', instance: 'a:1' }
    const file = join(dataDir, 'examples.json')
    writeFileSync(
      file,
      JSON.stringify({
        rule_files: [join(root, 'deploy/prometheus/alerts.yaml')],
        evaluation_interval: '1m',
        tests: [
          {
            interval: '1m',
            external_labels: { runbooks: 'https://books' },
            input_series: [
              series('berth_node_up{node="one",process="web"}', '1 1 0x8'),
              series('berth_node_up{node="one",process="worker"}', '1 1 0x8'),
              series('berth_node_up{node="two",process="web"}', '1x10'),
              series('berth_disk_free_bytes{folder="data",instance="a:1"}', '500 90x9'),
              series('berth_disk_floor_bytes{folder="data",instance="a:1"}', '100x10'),
            ],
            alert_rule_test: [
              firing('BerthNodeLost', { node: 'one' }, '3m', false),
              firing('BerthNodeLost', { node: 'one' }, '6m', true),
              firing('BerthDiskFull', disk, '1m', false),
              firing('BerthDiskFull', disk, '3m', true),
            ],
          },
        ],
      }),
    )
    expect(promtool('test', 'rules', file)).toContain('SUCCESS')
  })
})
