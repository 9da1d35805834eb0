/** What was used and what it cost: by day, model and key for inference, by day and VM for machines. */
import { useState, type ReactNode } from 'react'
import { useKeptQuery } from '../app/kept.ts'
import {
  InferenceUsageDocument,
  VmUsageDocument,
  type InferenceUsageGroupBy,
  type VmUsageDimension,
} from '../generated/documents.ts'
import { moneyOf } from '../parts/age.tsx'
import { Choice } from '../parts/field.tsx'
import { Heading } from '../parts/heading.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'

const dayMs = 86_400_000
const spans = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const

/** The page. */
export function Usage(): ReactNode {
  const [days, setDays] = useState('30')
  const from = new Date(Date.now() - Number(days) * dayMs).toISOString().slice(0, 10)
  return (
    <>
      <div className="head">
        <Heading>Usage</Heading>
        <span className="grow" />
        <Choice label="Since" value={days} options={spans} onChange={({ target }) => setDays(target.value)} />
      </div>
      <Inference from={from} />
      <Machines from={from} />
    </>
  )
}

const inferenceBy = [
  ['MODEL', 'model'],
  ['KEY', 'key'],
  ['DAY', 'day'],
  ['DAY,MODEL', 'day and model'],
] as const

function Inference({ from }: { from: string }): ReactNode {
  const [by, setBy] = useState('MODEL')
  const dimensions = by.split(',') as InferenceUsageGroupBy[]
  const [{ data, error }] = useKeptQuery({ query: InferenceUsageDocument, variables: { dimensions, from } })
  const usage = data?.inferenceUsage
  return (
    <section>
      <div className="head">
        <h2>Inference</h2>
        <span className="grow" />
        <Choice label="By" value={by} options={inferenceBy} onChange={({ target }) => setBy(target.value)} />
      </div>
      {error && <Problem error={error} />}
      {usage && (
        <Table
          label="Inference"
          heads={['What', 'Requests', 'Tokens in', 'Tokens out', 'USD']}
          foot={
            <tr>
              <th scope="row">All</th>
              <td>{usage.totals.requests}</td>
              <td>{usage.totals.inputTokens}</td>
              <td>{usage.totals.outputTokens}</td>
              <td>{moneyOf(usage.totals.costUsd)}</td>
            </tr>
          }
        >
          {usage.groups.map(({ day, modelId, key, user, totals }) => {
            const name = [day, modelId, key?.name, user?.name].filter((part) => typeof part === 'string').join(', ')
            return (
              <tr key={name}>
                <td>{plain(name || 'a deleted key')}</td>
                <td>{totals.requests}</td>
                <td>{totals.inputTokens}</td>
                <td>{totals.outputTokens}</td>
                <td>{moneyOf(totals.costUsd)}</td>
              </tr>
            )
          })}
        </Table>
      )}
    </section>
  )
}

const vmsBy = [
  ['VM', 'VM'],
  ['DAY', 'day'],
] as const

function Machines({ from }: { from: string }): ReactNode {
  const [by, setBy] = useState<VmUsageDimension>('VM')
  const [{ data, error }] = useKeptQuery({ query: VmUsageDocument, variables: { dimensions: [by], from } })
  const usage = data?.vmUsage
  return (
    <section>
      <div className="head">
        <h2>VMs</h2>
        <span className="grow" />
        <Choice
          label="By"
          value={by}
          options={vmsBy}
          onChange={({ target }) => setBy(target.value === 'DAY' ? 'DAY' : 'VM')}
        />
      </div>
      {error && <Problem error={error} />}
      {usage && (
        <Table
          label="VMs"
          heads={['What', 'Times run', 'Hours', 'USD']}
          foot={
            <tr>
              <th scope="row">All</th>
              <td />
              <td>{usage.totals.hours.toFixed(2)}</td>
              <td>{moneyOf(usage.totals.costUsd)}</td>
            </tr>
          }
        >
          {usage.groups.map(({ day, vm, vmId, totals }) => (
            <tr key={day ?? vmId ?? ''}>
              <td>{plain(day ?? vm?.name ?? vmId ?? 'builds')}</td>
              <td>{totals.sessions}</td>
              <td>{totals.hours.toFixed(2)}</td>
              <td>{moneyOf(totals.costUsd)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}
