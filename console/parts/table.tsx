/** A table of its own width: where the page is narrower, it scrolls, by keyboard too. */
import type { ReactNode } from 'react'

/**
 * @param label what the rows are.
 * @param foot a row below the others, for what they sum up to.
 */
export function Table({
  label,
  heads,
  children,
  foot,
}: {
  label: string
  heads: readonly string[]
  children: ReactNode
  foot?: ReactNode
}): ReactNode {
  return (
    <div className="wide" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {heads.map((head, at) => (
              <th key={at} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
        {foot && <tfoot>{foot}</tfoot>}
      </table>
    </div>
  )
}
