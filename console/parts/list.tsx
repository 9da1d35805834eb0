/** Every list: its filter in the address, a page at a time, live, and a sentence for each state it can be in. */
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { type TypedDocumentNode } from 'urql'
import { useMay } from '../app/desk.tsx'
import { useKeys } from '../app/keys.ts'
import { usePages, type Connection, type Shown } from '../app/pages.ts'
import { useTitle } from '../app/title.ts'
import type { Search } from '../app/router.tsx'
import type { Role } from '../generated/documents.ts'
import { Open } from './act.tsx'
import { Button } from './button.tsx'
import { useDraft } from './draft.ts'
import { Check } from './field.tsx'
import { Heading } from './heading.tsx'
import { Problem } from './problem.tsx'

/** Loading shows nothing for so long, then lines of the height that rows will have. */
const patienceMs = 150
const skeletonRows = 6

/** A column: its head, and the cell of a row. */
export type Column<Row> = readonly [head: string, cell: (row: Row) => ReactNode]

/** What a list needs to know. */
export type ListOf<Row, Data, Variables> = {
  /** `VMs`, as the head says it. */
  title: string
  document: TypedDocumentNode<Data, Variables>
  /** What beside the page's size and place it asks for; `text` is the filter, `includeArchived` the switch. */
  variables?: (text: string, includeArchived: boolean) => Record<string, unknown>
  /** Whether there is a switch that shows archived ones, too. */
  hasArchived?: boolean
  read: (data: Data) => Connection<Row> | null | undefined
  columns: readonly Column<Row>[]
  /** The folder of a row's own page; without it, rows lead nowhere. */
  folder?: string
  /** Shown in the head, and when there is nothing. */
  actions?: ReactNode
  /** How one makes a new one: what the button and the form's title say, the form, and the role that it takes. */
  create?: { title: string; form: (close: () => void) => ReactNode; least?: Role }
  /** What these objects are, for when there are none. */
  empty: ReactNode
}

type Row = { id: string }

/** The page of a list. */
export function List<R extends Row, Data, Variables>(list: ListOf<R, Data, Variables>): ReactNode {
  const { q = '', archived } = useSearch({ from: '/o/$org' }) as Search
  const { shown, more, again } = usePages<R, Data>({
    document: list.document as TypedDocumentNode<Data, Record<string, unknown>>,
    variables: list.variables?.(q, archived === 1) ?? {},
    read: list.read,
  })
  useTitle(list.title)
  const making = useMaking(list.create)
  const actions = (
    <>
      {list.actions}
      {making.button}
    </>
  )
  return (
    <>
      <div className="head">
        <Heading>{list.title}</Heading>
        {shown?.isKnown && <span className="soft">{countOf(shown)}</span>}
        <span className="grow" />
        {list.hasArchived && <Archived isOn={archived === 1} />}
        {list.variables && <Filter text={q} />}
        {actions}
      </div>
      {shown?.error && <Problem error={shown.error} onRetry={again} />}
      {shown?.isKnown ? (
        <Rows list={{ ...list, actions }} rows={shown.rows} isFiltered={q !== ''} />
      ) : (
        !shown?.error && <Skeleton columns={list.columns.length} />
      )}
      {shown?.hasMore && (
        <Button isBusy={shown.isAsking} onClick={more}>
          Show more
        </Button>
      )}
      {making.form}
    </>
  )
}

/** The form of a new one, which is open again where somebody had begun to write in it. */
function useMaking(create: ListOf<never, never, never>['create']): { button: ReactNode; form: ReactNode } {
  const draft = useDraft(create?.title ?? '')
  const [isOpen, setIsOpen] = useState(() => create !== undefined && draft.read() !== undefined)
  const { may } = useMay(create?.least ?? 'MEMBER')
  useKeys(create && may ? { c: () => setIsOpen(true) } : {})
  if (!create) return { button: undefined, form: undefined }
  return {
    button: (
      <Open least={create.least ?? 'MEMBER'} onClick={() => setIsOpen(true)}>
        {create.title}
      </Open>
    ),
    form: isOpen && may && create.form(() => setIsOpen(false)),
  }
}

function countOf({ rows, totalCount, hasMore }: Shown<unknown>): string {
  return hasMore ? `${rows.length} of ${totalCount}` : String(rows.length)
}

function Rows<R extends Row>({
  list: { columns, folder, empty, actions, title },
  rows,
  isFiltered,
}: {
  list: Pick<ListOf<R, never, never>, 'columns' | 'folder' | 'empty' | 'actions' | 'title'>
  rows: readonly R[]
  isFiltered: boolean
}): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  const [at, setAt] = useState(-1)
  const body = useRef<HTMLTableSectionElement>(null)
  const step = (by: number): void => {
    const next = Math.min(rows.length - 1, Math.max(0, at + by))
    setAt(next)
    body.current?.rows[next]?.querySelector('a')?.focus()
  }
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    o: () => {
      const row = rows[at]
      if (row && folder) void navigate({ to: `/o/${org}/${folder}/${row.id}` })
    },
  })
  if (rows.length === 0)
    return isFiltered ? (
      <NoMatch />
    ) : (
      <div className="empty">
        {empty}
        {actions}
      </div>
    )
  return (
    <div className="wide" tabIndex={0} role="region" aria-label={title}>
      <table>
        <thead>
          <tr>
            {columns.map(([head]) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, index) => (
            <tr key={row.id} className={index === at ? 'at' : undefined}>
              {columns.map(([head, cell], column) => (
                <td key={head}>
                  {column === 0 && folder ? <Link to={`/o/${org}/${folder}/${row.id}`}>{cell(row)}</Link> : cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function NoMatch(): ReactNode {
  const navigate = useNavigate()
  return (
    <div className="empty">
      <p>Nothing matches this filter.</p>
      <button type="button" onClick={() => void navigate({ to: '.', search: {} as never })}>
        Show all
      </button>
    </div>
  )
}

/** The filter of a list, of what is given; without anything there is none. */
export function filterOf(given: Record<string, unknown>): { filter?: Record<string, unknown> } {
  const filter = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== '' && value !== false))
  return Object.keys(filter).length > 0 ? { filter } : {}
}

/** The address with something else after `?`, and the rest of it as it is. */
function searchWith(change: { [Name in keyof Search]: Search[Name] | undefined }): never {
  return ((before: Search) => ({ ...before, ...change })) as never // the router knows no address by its name here
}

/** The switch, which is in the address, too. */
function Archived({ isOn }: { isOn: boolean }): ReactNode {
  const navigate = useNavigate()
  return (
    <Check
      label="Archived"
      checked={isOn}
      onChange={({ target }) =>
        void navigate({ to: '.', search: searchWith({ archived: target.checked ? 1 : undefined }), replace: true })
      }
    />
  )
}

/** What one types is there at once, and in the address a moment later. */
function Filter({ text }: { text: string }): ReactNode {
  const navigate = useNavigate()
  const input = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState(text)
  const [known, setKnown] = useState(text)
  if (text !== known) {
    setKnown(text)
    if (document.activeElement !== input.current) setTyped(text)
  }
  useKeys({ '/': () => input.current?.focus() })
  return (
    <input
      ref={input}
      type="search"
      aria-label="Filter by text"
      placeholder="Filter  /"
      value={typed}
      onChange={({ target }) => {
        setTyped(target.value)
        void navigate({ to: '.', search: searchWith({ q: target.value || undefined }), replace: true })
      }}
    />
  )
}

/** Lines where rows will be, once it takes long enough to be seen. */
export function Skeleton({ columns }: { columns: number }): ReactNode {
  const [isSeen, setIsSeen] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsSeen(true), patienceMs)
    return () => clearTimeout(timer)
  }, [])
  if (!isSeen) return null
  return (
    <table aria-busy="true" aria-label="Loading">
      <tbody>
        {Array.from({ length: skeletonRows }, (_, row) => (
          <tr key={row}>
            {Array.from({ length: columns }, (_cell, column) => (
              <td key={column}>
                <span className="line" />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
