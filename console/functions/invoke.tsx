/** Asks a function: by a command, or in a tab of the browser. The page itself asks no other host. */
import { useState, type ReactNode } from 'react'
import { StartFunctionDocument, type FunctionRow } from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Copy } from '../parts/copy.tsx'
import { Choice, Field, TextArea } from '../parts/field.tsx'
import { State } from '../parts/state.tsx'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, method] as const)

/** The tab. */
export function Invoke({ one }: { one: FunctionRow }): ReactNode {
  const [method, setMethod] = useState('GET')
  const [path, setPath] = useState('/')
  const [body, setBody] = useState('')
  const url = `${one.url.replace(/\/$/, '')}${path.startsWith('/') ? '' : '/'}${path}`
  const nothing = one.currentVersion ? undefined : 'Nothing is deployed yet: deploy a version first.'
  return (
    <>
      <div className="row">
        <Choice label="Method" value={method} options={methods} onChange={({ target }) => setMethod(target.value)} />
        <Field label="Path" value={path} onChange={({ target }) => setPath(target.value)} />
      </div>
      {method !== 'GET' && (
        <TextArea label="Body" value={body} onChange={({ target }) => setBody(target.value)} spellCheck={false} />
      )}
      <p>As a command:</p>
      <Copy text={commandOf(method, url, body)} label="command" />
      <div className="buttons">
        {method === 'GET' && (
          <a className="button" href={url} rel="noreferrer noopener" target="_blank">
            Open it
          </a>
        )}
        <Act mutation={StartFunctionDocument} variables={{ input: { id: one.id } }} why={nothing}>
          Start it now
        </Act>
        <State status={one.functionStatus} />
      </div>
      {nothing ? (
        <p className="note">{nothing}</p>
      ) : (
        <p className="soft">
          Whoever asks starts it, too; then the first answer takes longer. What it prints is in its log.
        </p>
      )}
    </>
  )
}

function commandOf(method: string, url: string, body: string): string {
  const parts = ['curl', '-i', ...(method === 'GET' ? [] : ['-X', method]), quoted(url)]
  if (method !== 'GET' && body) parts.push('--data-binary', quoted(body))
  return parts.join(' ')
}

/** As one word of a shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
