/** A line of how a number went lately. What it says stands beside it in words, and behind it in a table. */
import type { ReactNode } from 'react'

const width = 300
const height = 48

/**
 * @param values the oldest first.
 * @param most the value at the top.
 * @param slots how many values fill the width; fewer begin in its middle.
 * @param label what the line shows, in words.
 */
export function Sparkline({
  values,
  most,
  slots,
  label,
}: {
  values: readonly number[]
  most: number
  slots: number
  label: string
}): ReactNode {
  const step = width / Math.max(1, slots - 1)
  const points = values.map((value, at) => {
    const x = width - (values.length - 1 - at) * step
    const y = height - 1 - (Math.min(value, most) / Math.max(most, Number.MIN_VALUE)) * (height - 2)
    return `${x.toFixed(1)},${y.toFixed(1)}`
  })
  return (
    <svg className="spark" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <polyline points={points.join(' ')} vectorEffect="non-scaling-stroke" />
    </svg>
  )
}
