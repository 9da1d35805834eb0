/** Finds places and objects by what one types: `Ctrl K`. */
import { useNavigate } from '@tanstack/react-router'
import { useDeferredValue, useState, type KeyboardEvent, type ReactNode } from 'react'
import { useQuery } from 'urql'
import { SearchDocument, type SearchedType } from '../generated/documents.ts'
import { Dialog } from '../parts/dialog.tsx'
import { plain } from '../parts/plain.ts'
import { wordOf } from '../parts/state.tsx'
import { places } from './places.ts'

/** Where an object's page is, below its organization. */
const folderOf: Partial<Record<SearchedType, string>> = {
  VM: 'vms',
  DATABASE: 'databases',
  BUILD: 'builds',
  FUNCTION: 'functions',
  DOMAIN: 'domains',
  PROJECT: 'projects',
  AGENT: 'agents',
  SESSION: 'sessions',
  VAULT: 'vaults',
  ENVIRONMENT: 'environments',
  DEPLOYMENT: 'automation/deployments',
  SKILL: 'skills',
  FILE: 'files',
}
const shortest = 2 // characters

type Hit = { key: string; text: string; kind: string; to: string }

/** The dialog. */
export function Palette({ org, onClose }: { org: string; onClose: () => void }): ReactNode {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const navigate = useNavigate()
  const hits = useHits(org, text)
  const chosen = Math.min(at, hits.length - 1)

  function go(hit: Hit | undefined): void {
    if (!hit) return
    onClose()
    void navigate({ to: hit.to })
  }
  function onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setAt((chosen + step + hits.length) % Math.max(1, hits.length))
    } else if (event.key === 'Enter') go(hits[chosen])
  }
  return (
    <Dialog title="Search" onClose={onClose}>
      <input
        role="combobox"
        aria-expanded
        aria-controls="hits"
        aria-activedescendant={hits[chosen] ? `hit-${chosen}` : undefined}
        aria-label="What to find"
        placeholder="A place, a name, an id"
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          setAt(0)
        }}
        onKeyDown={onKey}
      />
      <ul id="hits" role="listbox" aria-label="Found" className="hits">
        {hits.map((hit, index) => (
          <li
            key={hit.key}
            id={`hit-${index}`}
            role="option"
            aria-selected={index === chosen}
            onMouseEnter={() => setAt(index)}
            onClick={() => go(hit)}
          >
            {plain(hit.text)} <small>{hit.kind}</small>
          </li>
        ))}
      </ul>
      {text.length >= shortest && hits.length === 0 && <p className="soft">Nothing that has this name is found yet.</p>}
    </Dialog>
  )
}

/** Places are found as one types; objects, which the server finds, a moment later. */
function useHits(org: string, text: string): Hit[] {
  const typed = text.trim()
  const wanted = useDeferredValue(typed)
  const [{ data, fetching }] = useQuery({
    query: SearchDocument,
    variables: { text: wanted },
    pause: wanted.length < shortest,
  })
  const own = places
    .filter(({ name }) => name.toLowerCase().includes(typed.toLowerCase()))
    .map(({ path, name }) => ({ key: path, text: name, kind: 'place', to: `/o/${org}/${path}` }))
  if (typed.length < shortest || wanted !== typed || fetching) return own
  const found = (data?.search ?? []).flatMap(({ nodeId, nodeType, title }) => {
    const folder = folderOf[nodeType]
    return folder
      ? [{ key: nodeId, text: title ?? nodeId, kind: wordOf(nodeType), to: `/o/${org}/${folder}/${nodeId}` }]
      : []
  })
  return [...own, ...found]
}
