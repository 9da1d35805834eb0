/** What a VM uses now, and how that went since the tab was opened. */
import type { ReactNode } from 'react'
import { useMay } from '../app/desk.tsx'
import type { Keeping } from '../app/keeping.ts'
import { useStream } from '../app/streams.ts'
import { WatchVmDocument, type WatchVm } from '../generated/documents.ts'
import { bytesOf } from '../parts/age.tsx'
import { Problem } from '../parts/problem.tsx'
import { Sparkline } from '../parts/sparkline.tsx'
import { Table } from '../parts/table.tsx'

/** Readings that are held: five minutes of them. */
const keptMax = 150
/** Those in the table. */
const rowsMax = 30

type Reading = Extract<WatchVm['vmMetricsChanged'], { processorPercent: number }>

function isReading(told: WatchVm['vmMetricsChanged']): told is Reading {
  return 'processorPercent' in told
}

/** The tab. */
export function Usage({ id, isUp }: { id: string; isUp: boolean }): ReactNode {
  const { may, why } = useMay('MEMBER')
  if (!may) return <p className="note">{why}</p>
  if (!isUp) return <p className="note">It is not running: start it to see what it uses.</p>
  return <Live id={id} />
}

function Live({ id }: { id: string }): ReactNode {
  const { kept: values, error } = useStream(WatchVmDocument, id, readings)
  const last = values.at(-1)
  if (error) return <Problem error={error} />
  if (!last) return <p className="soft">It is read…</p>
  return (
    <>
      <div className="charts">
        {chartsOf(values, last).map((chart) => (
          <Chart key={chart.name} {...chart} />
        ))}
      </div>
      <details>
        <summary>As a table</summary>
        <Readings values={values} />
      </details>
    </>
  )
}

const readings: Keeping<WatchVm, Reading, Reading[]> = {
  begin: () => [],
  read: ({ vmMetricsChanged }) =>
    isReading(vmMetricsChanged) ? { value: vmMetricsChanged, cursor: undefined } : undefined,
  add(kept, values) {
    kept.push(...values)
    kept.splice(0, kept.length - keptMax)
  },
}

/** @property most the value at the top of the line. */
type Charted = { name: string; now: string; values: readonly number[]; most: number; say: (value: number) => string }

function chartsOf(values: readonly Reading[], last: Reading): Charted[] {
  const rates = ratesOf(values)
  const received = rates.map((rate) => rate.received)
  const sent = rates.map((rate) => rate.sent)
  const networkMost = Math.max(1024, ...received, ...sent)
  const of = (read: (reading: Reading) => string | number): number[] => values.map((reading) => Number(read(reading)))
  const loads = of(({ load }) => load)
  const network = (rate: readonly number[], total: string | number) =>
    `${perSecond(rate.at(-1) ?? 0)}, ${bytesOf(total)} since it booted`
  return [
    {
      name: 'Processor',
      now: percent(last.processorPercent),
      values: of(({ processorPercent }) => processorPercent),
      most: 100,
      say: percent,
    },
    {
      name: 'Memory',
      now: `${bytesOf(last.memoryUsedBytes)} of ${bytesOf(last.memoryTotalBytes)}`,
      values: of(({ memoryUsedBytes }) => memoryUsedBytes),
      most: Number(last.memoryTotalBytes),
      say: bytesOf,
    },
    {
      name: 'Disk at /',
      now: `${bytesOf(last.diskUsedBytes)} of ${bytesOf(last.diskTotalBytes)}`,
      values: of(({ diskUsedBytes }) => diskUsedBytes),
      most: Number(last.diskTotalBytes),
      say: bytesOf,
    },
    {
      name: 'Load',
      now: last.load.toFixed(2),
      values: loads,
      most: Math.max(1, ...loads),
      say: (load) => load.toFixed(2),
    },
    {
      name: 'Network in',
      now: network(received, last.receivedBytes),
      values: received,
      most: networkMost,
      say: perSecond,
    },
    { name: 'Network out', now: network(sent, last.sentBytes), values: sent, most: networkMost, say: perSecond },
  ]
}

function Chart({ name, now, values, most, say }: Charted): ReactNode {
  const range = `from ${say(Math.min(...values))} to ${say(Math.max(...values))}`
  return (
    <figure className="chart">
      <figcaption>
        {name} <strong>{now}</strong>
      </figcaption>
      <Sparkline values={values} most={most} slots={keptMax} label={`${name}: ${now}; ${range} in the last minutes`} />
    </figure>
  )
}

/** The newest readings as they are, for who cannot see lines. */
function Readings({ values }: { values: readonly Reading[] }): ReactNode {
  const rates = ratesOf(values)
  return (
    <Table label="What it used" heads={['When', 'Processor', 'Memory', 'Disk', 'Load', 'In', 'Out']}>
      {values
        .map((reading, at) => ({ reading, rate: rates[at] }))
        .slice(-rowsMax)
        .reverse()
        .map(({ reading, rate }) => (
          <tr key={reading.at}>
            <td>{new Date(reading.at).toLocaleTimeString()}</td>
            <td>{percent(reading.processorPercent)}</td>
            <td>{bytesOf(reading.memoryUsedBytes)}</td>
            <td>{bytesOf(reading.diskUsedBytes)}</td>
            <td>{reading.load.toFixed(2)}</td>
            <td>{perSecond(rate?.received ?? 0)}</td>
            <td>{perSecond(rate?.sent ?? 0)}</td>
          </tr>
        ))}
    </Table>
  )
}

/** Bytes a second between each reading and the one before it; 0 for the first, and where the VM has booted between them. */
function ratesOf(values: readonly Reading[]): { received: number; sent: number }[] {
  return values.map((reading, at) => {
    const before = values[at - 1]
    const seconds = before ? (Date.parse(reading.at) - Date.parse(before.at)) / 1000 : 0
    const rate = (now: string | number, then: string | number): number =>
      seconds > 0 ? Math.max(0, (Number(now) - Number(then)) / seconds) : 0
    return {
      received: before ? rate(reading.receivedBytes, before.receivedBytes) : 0,
      sent: before ? rate(reading.sentBytes, before.sentBytes) : 0,
    }
  })
}

function percent(value: number): string {
  return `${value} %`
}

function perSecond(bytes: number): string {
  return `${bytesOf(Math.round(bytes))}/s`
}
