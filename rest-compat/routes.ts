/** What a documented path is: one GraphQL document and how its answer is sent. */

/** One documented path. The key of a table of routes is `METHOD /path/{parameter}`. */
export type Route = {
  /**
   * The document. Variables carry the documented request names (path, query, body keys; `$body` is the whole body);
   * aliases carry the documented response names; a root field aliased `body` is the whole body of the answer,
   * otherwise the data object is. A subscription is an event stream.
   */
  operation: string
  /** The documented success status; 204 sends no body. */
  status: 200 | 201 | 202 | 204
  /** The other documented statuses, for OpenAPI. */
  errors: readonly number[]
  /** One sentence for OpenAPI. */
  summary: string
  /** Variables that are read from the query although the method has a body. */
  query?: readonly string[]
  /** For a stream: the variable that `Last-Event-ID` fills. */
  cursor?: string
  /** Nouns whose absence is told as 403: the documents list no 404 for them here (decisions.md §0, malformed or foreign id). */
  absentIs403?: readonly string[]
  /** Not in the documents: ours, and marked so in OpenAPI. */
  additive?: true
}

/** Routes by `METHOD /path`. */
export type Routes = Readonly<Record<string, Route>>
