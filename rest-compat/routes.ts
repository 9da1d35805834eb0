/** What a documented path is: one GraphQL document and how its answer is sent; and what a surface of such paths is. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GraphQLSchema } from 'graphql'
import type { Authenticator } from '#schema/context.ts'
import type { BerthError } from '#src/platform/errors.ts'
import type { Services } from '#src/platform/services.ts'
import type { RestList } from './lists.ts'

/** One documented path. The key of a table of routes is `METHOD /path/{parameter}`. */
export type Route = {
  /**
   * The document. Variables carry the documented request names (path, query, body keys; `$body` is the whole body);
   * aliases carry the documented response names; `$input` is a mutation's input, read from the body in snake_case and
   * from the path. A field aliased `body`, at the root, in a payload or in its noun, is the whole body of the answer; otherwise
   * the data object is. A subscription is an event stream.
   */
  operation: string
  /** The documented success status; 204 sends no body. */
  status: 200 | 201 | 202 | 204
  /** The other documented statuses, for OpenAPI. */
  errors: readonly number[]
  /** One sentence for OpenAPI. */
  summary: string
  /** Variables, or keys of `$input`, that are read from the query although the method has a body. */
  query?: readonly string[]
  /** Keys of the body that this path requires although the mutation does not. */
  always?: readonly string[]
  /** Variables that may be left out of the body, and are no null there. Every other one may be. */
  neverNull?: readonly string[]
  /** Parameters of the path that fill a field of `$input` with another name than theirs. */
  into?: Readonly<Record<string, string>>
  /** For a body that is one JSON value to a field of `$input`: which field. `body` says what is taken. */
  bodyInto?: string
  /** Parameters of the query that fill fields of the variable `$filter`, and which. */
  filter?: Readonly<Record<string, string>>
  /** For a connection: how it is shown. Its document has the variables `$first` and `$after`, and those of `last` where it goes both ways. */
  list?: RestList
  /** The key by which the entries of the body's `data` are shown, instead of as objects: what a noun shows of itself whole. */
  entriesBy?: string
  /** For a stream: the variable that `Last-Event-ID` fills. */
  cursor?: string
  /** For a stream that browsers open by themselves: the credential may also stand in the query, as `token`; the header goes before it. */
  tokenInQuery?: true
  /** For a stream: an event is the same object for everyone who follows it, and is made into text once. */
  sameForAll?: true
  /** For a stream: one that is resumed where it had ended answers 204, at which a browser stops coming back. */
  ends?: true
  /** For a body that is one JSON value to the document: what is taken, for OpenAPI. */
  body?: JsonSchema
  /** Variables that callers write otherwise in the query, such as `types[]`; the variable's own name will do too. */
  queryNames?: Readonly<Record<string, string>>
  /** Needs no credentials, and looks at none: it is counted for the caller's address. */
  open?: true
  /** Headers of the answer. */
  headers?: Readonly<Record<string, string>>
  /** For a stream of the agents service: every frame names its kind, as Anthropic's clients want it. */
  frames?: 'named'
  /** The largest body, in bytes, where it is not the surface's. */
  bodyBytes?: number
  /** Its answers may have many MiB, and are written in steps. */
  large?: true
  /** Nouns whose absence is told as 403, because the interface lists no 404 for them here. */
  absentIs403?: readonly string[]
  /**
   * For a 204 that deletes: what it deletes. A request with the header `anthropic-beta` gets 200 and
   * `{id, type: "<kind>_deleted"}` instead, as that client expects; the id is the path's last parameter.
   */
  deletes?: string
  /** An organization key is refused here with 401, whatever it sent and whatever its scopes open elsewhere. */
  peopleOnly?: true
  /** Beyond the interface that clients know: ours, and marked so in OpenAPI. */
  additive?: true
}

/** Routes by `METHOD /path`. */
export type Routes = Readonly<Record<string, Route>>

/** Answers a request. */
export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** A JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * A path that is answered by hand, because no document can: it says why. Its body and its answers are described by
 * hand, too; a test compares them with what it answers.
 */
export type HandWritten = {
  reason: string
  /** Its name for OpenAPI, as a document has one. */
  name: string
  status: 200
  errors: readonly number[]
  summary: string
  request: JsonSchema
  /** By media type. */
  responses: Readonly<Record<string, JsonSchema>>
  /** Headers of the answer, each with a sentence. */
  headers: Readonly<Record<string, string>>
  /** `admit` runs before the body is read, so that nobody's 32 MB are taken in; what it throws is the answer. */
  make: (parts: SurfaceParts & { stopping: AbortSignal }) => {
    admit: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
    handle: Handler
  }
}

/** A documented surface. */
export type Surface = {
  name: 'infra' | 'agents' | 'llm'
  title: string
  /** What stands before its documented paths, and the part of both that all its paths share. */
  mount: string
  prefix: string
  /** Where its description is. */
  openapiPath: string
  routes: Routes
  /** Paths answered by hand, by `METHOD /path`. */
  handlers: Readonly<Record<string, HandWritten>>
  bodyBytes: number
  /** Whether parameters and fields that nothing takes are ignored. They are refused elsewhere: a restriction that is dropped widens rights. */
  takesUnknownKeys: boolean
  /** The documented body of an error. */
  envelope: (error: BerthError, requestId: string) => Record<string, unknown>
  /** Headers that an error has beside those of every surface. */
  errorHeaders?: (error: BerthError) => Record<string, string>
}

/** What the surfaces are served with. */
export type SurfaceParts = { services: Services; schema: GraphQLSchema; authenticator: Authenticator }
