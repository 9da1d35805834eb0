/** How long ago something was, kept up to date, with the exact moment behind it; and sizes as people read them. */
import { useSyncExternalStore, type ReactNode } from 'react'

const everyMs = 10_000
const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const
const listeners = new Set<() => void>()
let nowMs = Date.now()
setInterval(() => {
  nowMs = Date.now()
  for (const listener of listeners) listener()
}, everyMs)

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** @param at a moment in ISO 8601. */
export function Age({ at }: { at: string | null | undefined }): ReactNode {
  const now = useSyncExternalStore(subscribe, () => nowMs)
  if (!at) return <span className="soft">–</span>
  const seconds = Math.round((Math.max(now, Date.now()) - Date.parse(at)) / 1000)
  const isAhead = seconds < 0
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {isAhead ? `in ${spanOf(-seconds)}` : `${spanOf(seconds)} ago`}
    </time>
  )
}

/** A time span in its largest unit. */
export function spanOf(seconds: number): string {
  for (const [unit, length] of units) if (seconds >= length) return `${Math.floor(seconds / length)} ${unit}`
  return `${Math.max(0, Math.floor(seconds))} s`
}

/** An amount of money without the zeros that say nothing: two decimals at least. */
export function moneyOf(amount: string): string {
  return amount.replace(/(\.\d\d\d*?)0+$/, '$1')
}

/** A size in MB as people say it. */
export function sizeOf(megabytes: number): string {
  return megabytes >= 1024 && megabytes % 512 === 0 ? `${megabytes / 1024} GB` : `${megabytes} MB`
}

/** A number of bytes as people say it. */
export function bytesOf(bytes: string | number): string {
  const value = Number(bytes)
  for (const [unit, size] of [
    ['GB', 1024 ** 3],
    ['MB', 1024 ** 2],
    ['kB', 1024],
  ] as const)
    if (value >= size) return `${(value / size).toFixed(1)} ${unit}`
  return `${value} bytes`
}
