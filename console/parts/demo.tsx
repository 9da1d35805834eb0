/** What the built-in model takes, for who has no other yet: it thinks of nothing by itself. */
import type { ReactNode } from 'react'

const builtIn = 'berth/demo'

/** A line for whoever writes to an agent of this model; nothing for any other. */
export function DemoHint({ modelId }: { modelId: string }): ReactNode {
  if (modelId !== builtIn) return null
  return (
    <p className="soft">
      <code>{builtIn}</code> follows scripts: try <code>{'!tool bash {"command": "uname -a"}'}</code>, and below it{' '}
      <code>!say Done.</code> For a model that thinks, see <a href="/guide/models">models</a>.
    </p>
  )
}
