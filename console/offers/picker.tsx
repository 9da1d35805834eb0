/** A choice of objects by their names, which the server searches as one types: there may be thousands. */
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { useQuery } from 'urql'
import { write } from '../app/drafts.ts'
import { NamesDocument } from '../generated/documents.ts'
import { idsOf } from '../parts/given.ts'
import type { Offer } from './offers.ts'
import { plain } from '../parts/plain.ts'
import { toldBy } from '../parts/problem.tsx'

type Option = { id: string; name: string }
type PickerOf = {
  label: string
  hint?: string
  /** Of the field that has the ids, with a space between them. */
  name: string
  of: Offer
  /** The ids that are chosen at first. */
  chosen?: readonly string[]
  /** What choosing nothing means, where that may be. */
  none?: string | undefined
}

/** One of them. */
export function Picker({ chosen, ...picker }: Omit<PickerOf, 'chosen'> & { chosen?: string | null | undefined }) {
  return <Choosing {...picker} chosen={chosen ? [chosen] : []} isMany={false} />
}

/** Any of them. */
export function PickMany(picker: Omit<PickerOf, 'none'>): ReactNode {
  return <Choosing none="Type to find one" {...picker} isMany />
}

function Choosing({ label, hint, name, of, chosen = [], none, isMany }: PickerOf & { isMany: boolean }): ReactNode {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const [ids, setIds] = useState(chosen)
  const { nameOf, learn } = useNames(of, ids)
  const [typed, setTyped] = useState<string>() // undefined while nobody types
  const isOpen = typed !== undefined
  const search = useSearch(of, typed)
  const options = [
    ...(none !== undefined && !isMany && typed === '' ? [{ id: '', name: none }] : []),
    ...search.options.filter((option) => !isMany || !ids.includes(option.id)),
  ]
  const [at, setAt] = useState(0)
  const current = Math.min(at, options.length - 1)
  const put = (next: readonly string[]): void => void (field.current && write(field.current, next.join(' ')))
  function pick(option: Option | undefined): void {
    if (!option) return
    learn(option)
    put(isMany ? [...ids, option.id] : option.id ? [option.id] : [])
    setTyped(isMany ? '' : undefined)
  }
  function onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      if (isOpen) setAt((current + step + options.length) % Math.max(1, options.length))
      else setTyped('')
    } else if (event.key === 'Enter' && isOpen) {
      event.preventDefault() // it chooses, and sends nothing
      pick(options[current])
    } else if (event.key === 'Escape' && isOpen) {
      event.stopPropagation() // it closes this, and not the form
      setTyped(undefined)
    }
  }
  const shown = isMany ? '' : ids.map(nameOf).join('')
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        ref={field}
        hidden
        name={name}
        defaultValue={chosen.join(' ')}
        onInput={({ currentTarget }) => setIds(idsOf(currentTarget.value))}
      />
      {isMany && <Chosen ids={ids} nameOf={nameOf} onTakeOut={(out) => put(ids.filter((one) => one !== out))} />}
      <div className="picker">
        <input
          id={id}
          role="combobox"
          aria-expanded={isOpen && options.length > 0}
          aria-autocomplete="list"
          aria-controls={isOpen && options.length > 0 ? `${id}-options` : undefined}
          aria-activedescendant={isOpen && options[current] ? `${id}-${current}` : undefined}
          aria-describedby={hint ? `${id}-hint` : undefined}
          autoComplete="off"
          required={none === undefined}
          placeholder={isMany || none === undefined ? 'Type to find one' : none}
          value={typed ?? shown}
          onChange={({ target }) => {
            setTyped(target.value)
            setAt(0)
            if (target.value === '' && none !== undefined && !isMany) put([])
          }}
          onClick={() => setTyped((before) => before ?? '')}
          onBlur={() => setTyped(undefined)}
          onKeyDown={onKey}
        />
        {isOpen && <Offered {...{ id, label, options, current, pick }} told={search.told} onPoint={setAt} />}
      </div>
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  )
}

function Offered({
  id,
  label,
  options,
  current,
  told,
  onPoint,
  pick,
}: {
  id: string
  label: string
  options: readonly Option[]
  current: number
  told: string
  onPoint: (at: number) => void
  pick: (option: Option) => void
}): ReactNode {
  return (
    <div className="offered">
      {options.length > 0 && (
        <ul id={`${id}-options`} role="listbox" aria-label={`${label}, found`} className="hits">
          {options.map((option, index) => (
            <li
              key={option.id}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === current}
              ref={index === current ? intoView : undefined}
              onMouseEnter={() => onPoint(index)}
              onMouseDown={(event) => event.preventDefault()} // the focus stays where one types
              onClick={() => pick(option)}
            >
              {plain(option.name)}
            </li>
          ))}
        </ul>
      )}
      <p role="status" className="soft">
        {told}
      </p>
    </div>
  )
}

function intoView(option: HTMLElement | null): void {
  option?.scrollIntoView({ block: 'nearest' })
}

function Chosen({
  ids,
  nameOf,
  onTakeOut,
}: {
  ids: readonly string[]
  nameOf: (id: string) => string
  onTakeOut: (id: string) => void
}): ReactNode {
  if (ids.length === 0) return null
  return (
    <ul className="chosen">
      {ids.map((id) => (
        <li key={id}>
          <button type="button" aria-label={`Take out ${nameOf(id)}`} onClick={() => onTakeOut(id)}>
            {nameOf(id)} <span aria-hidden>×</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

/** What is found by a text; nothing while it is undefined. */
function useSearch({ document, read }: Offer, typed: string | undefined): { options: readonly Option[]; told: string } {
  const text = typed?.trim() ?? ''
  const [{ data, error, fetching }] = useQuery({
    query: document,
    variables: text ? { filter: { text } } : {},
    pause: typed === undefined,
    requestPolicy: 'cache-and-network',
  })
  const found = data === undefined ? undefined : read(data)
  if (error) return { options: [], told: toldBy(error).message }
  if (!found) return { options: [], told: fetching ? 'Looking…' : '' }
  const { nodes, totalCount } = found
  if (nodes.length === 0) return { options: [], told: text ? 'Nothing has this name.' : 'There is none yet.' }
  const more = totalCount > nodes.length ? `The newest ${nodes.length} of ${totalCount}: type to find others.` : ''
  return { options: nodes, told: more }
}

/** The names of what is chosen; ids, of what nobody finds any more. */
function useNames(of: Offer, ids: readonly string[]): { nameOf: (id: string) => string; learn: (one: Option) => void } {
  const [known, setKnown] = useState<ReadonlyMap<string, string>>(new Map())
  const unknown = ids.filter((id) => !known.has(id))
  const [{ data }] = useQuery({
    query: NamesDocument,
    variables: { ids: unknown },
    pause: unknown.length === 0 || !of.hasNodes,
  })
  useEffect(() => {
    const found = (data?.nodes ?? []).flatMap((one) => (one && 'name' in one ? [[one.id, one.name] as const] : []))
    if (found.some(([id]) => !known.has(id))) setKnown(new Map([...known, ...found]))
  }, [data, known])
  return {
    nameOf: (id) => plain(known.get(id) ?? id),
    learn: ({ id, name }) => setKnown((before) => new Map([...before, [id, name]])),
  }
}
