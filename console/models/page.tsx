/** Models: which there are, a place to try one, the requests that were made, and what may be spent. */
import { useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Search } from '../app/router.tsx'
import {
  ModelsDocument,
  RequestsDocument,
  type Models as AnsweredModels,
  type Requests as AnsweredRequests,
} from '../generated/documents.ts'
import { Age, moneyOf } from '../parts/age.tsx'
import { List, type Column } from '../parts/list.tsx'
import { Tabs } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { State, wordOf } from '../parts/state.tsx'
import { Budget } from './budget.tsx'
import { Playground } from './playground.tsx'

type Model = NonNullable<AnsweredModels['models']>['nodes'][number]
type Request = NonNullable<AnsweredRequests['inferenceRequests']>['nodes'][number]

const tabs = [
  ['models', 'Models', () => <ModelList />],
  ['try', 'Try one', () => <Playground />],
  ['requests', 'Requests', () => <RequestList />],
  ['budget', 'Budget', () => <Budget />],
] as const

/** The page. */
export function Models(): ReactNode {
  const { tab } = useSearch({ from: '/o/$org' }) as Search
  return <Tabs tabs={tabs} named={tab} />
}

const modelColumns: readonly Column<Model>[] = [
  ['Model', ({ id }) => <code>{plain(id)}</code>],
  ['Name', ({ displayName }) => plain(displayName)],
  ['By', ({ ownedBy }) => plain(ownedBy)],
  ['Kind', ({ kind }) => wordOf(kind)],
  ['Reads, tokens', ({ contextWindow }) => contextWindow?.toLocaleString('en')],
  ['Writes, tokens', ({ maxOutputTokens }) => maxOutputTokens?.toLocaleString('en')],
]

function ModelList(): ReactNode {
  return (
    <List
      title="Models"
      document={ModelsDocument}
      read={({ models }) => models}
      columns={modelColumns}
      empty={<p>There is no model.</p>}
    />
  )
}

const requestColumns: readonly Column<Request>[] = [
  ['When', ({ startedAt }) => <Age at={startedAt} />],
  ['Model', ({ modelId }) => plain(modelId)],
  ['By', ({ key, user, session }) => plain(key?.name ?? session?.title ?? user?.name ?? '–')],
  ['Status', ({ requestStatus }) => <State status={requestStatus} />],
  ['In', ({ inputTokens }) => inputTokens],
  ['Out', ({ outputTokens }) => outputTokens],
  ['USD', ({ costUsd }) => costUsd && moneyOf(costUsd)],
]

function RequestList(): ReactNode {
  return (
    <List
      title="Requests"
      document={RequestsDocument}
      read={({ inferenceRequests }) => inferenceRequests}
      columns={requestColumns}
      empty={<p>No model was asked yet.</p>}
    />
  )
}
