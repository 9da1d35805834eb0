/** What forms offer to choose from: the newest, or those with a piece of text in their name, as the server finds them. */
import type { TypedDocumentNode } from 'urql'
import {
  OfferedAgentsDocument,
  OfferedConnectorsDocument,
  OfferedDeploymentsDocument,
  OfferedEnvironmentsDocument,
  OfferedProjectsDocument,
  OfferedVaultsDocument,
} from '../generated/documents.ts'

type Narrowed = { filter?: { text?: string | null } | null }
type Found = { totalCount: number; nodes: readonly { id: string; name: string }[] }

/** Objects of one kind. @property hasNodes whether their names are found by their ids. */
export type Offer = {
  document: TypedDocumentNode<unknown, Narrowed>
  read: (data: unknown) => Found | null | undefined
  hasNodes: boolean
}

function offer<Data>(
  document: TypedDocumentNode<Data, Narrowed>,
  read: (data: Data) => Found | null | undefined,
  hasNodes = true,
): Offer {
  return { document, read: (data) => read(data as Data), hasNodes } // what this document answers
}

/** Each kind. */
export const offers = {
  agents: offer(OfferedAgentsDocument, ({ agents }) => agents),
  deployments: offer(OfferedDeploymentsDocument, ({ deployments }) => deployments),
  environments: offer(OfferedEnvironmentsDocument, ({ environments }) => environments),
  vaults: offer(OfferedVaultsDocument, ({ vaults }) => vaults),
  projects: offer(OfferedProjectsDocument, ({ projects }) => projects),
  connectors: offer(OfferedConnectorsDocument, ({ mcpServices }) => mcpServices, false), // their ids are words
} as const
