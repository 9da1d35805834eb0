/** GraphQL documents as texts, with the types of what they answer and take. */

declare const typesOf: unique symbol

/** The text of a GraphQL operation that answers `Data` and takes `Variables`. */
export type Document<Data = unknown, Variables = Record<string, unknown>> = string & {
  readonly [typesOf]?: (variables: Variables) => Data
}

/** What code generators and `gql` make of a document. Only its text is used, so that this client needs no GraphQL library. */
export type ParsedDocument = { readonly loc?: { readonly source: { readonly body: string } } | undefined }

/** A document with its types. */
export function documentOf<Data, Variables>(text: string): Document<Data, Variables> {
  return text as Document<Data, Variables> // the types exist for the compiler only
}

/** The text of a document in any form. @throws TypeError when it has none. */
export function textOf(document: string | ParsedDocument): string {
  if (typeof document === 'string') return document
  const text = document.loc?.source.body
  if (text === undefined) throw new TypeError('This document has no text. Pass the query as a string.')
  return text
}
