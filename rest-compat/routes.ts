/**
 * The types of documented paths: a route is one GraphQL document and how its answer is sent; a surface is a set of
 * routes.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GraphQLSchema } from 'graphql'
import type { Authenticator } from '#schema/context.ts'
import type { BerthError } from '#src/platform/errors.ts'
import type { Call, Services } from '#src/platform/services.ts'
import type { RestList } from './lists.ts'

/** One documented path. The key of a table of routes is `METHOD /path/{parameter}`. */
export type Route = {
  /**
   * The document; its name is the operation's in OpenAPI. Variables carry the documented request names (path, query,
   * body keys); aliases carry the documented response names; `$input` is a mutation's input, read from the body in
   * snake_case and from the path. A field aliased `body`, at the root, in a payload or in its noun, is the whole body of the answer; otherwise
   * the data object is. A subscription is an event stream.
   */
  operation: string
  /** The documented success status; 204 sends no body. */
  status: 200 | 201 | 202 | 204
  /** For a creation that may find what it created before: the payload's field that is false then, and the status of that answer. */
  found?: { unless: string; status: 200; summary: string }
  /** The other documented statuses, for OpenAPI. */
  errors: readonly number[]
  /** One sentence for OpenAPI. */
  summary: string
  /** Variables, or keys of `$input`, that are read from the query although the method has a body. */
  query?: readonly string[]
  /** Keys of the body that this path requires although the mutation does not. */
  always?: readonly string[]
  /** Keys of the body that this path requires although the mutation does not; they may be null. */
  present?: readonly string[]
  /** Keys of `$input` that may be omitted from the body but not be null there. Every other optional one may be null. */
  neverNull?: readonly string[]
  /** Path parameters that fill a field of `$input` with a different name. */
  into?: Readonly<Record<string, string>>
  /** For a body that is one JSON value: the field of `$input` that it fills. `body` has its schema. */
  bodyInto?: string
  /** Query parameters that fill fields of the variable `$filter`, each with its field. */
  filter?: Readonly<Record<string, string>>
  /**
   * For a connection: how it is shown. Its document has the variables `$first` and `$after`, and `$last` and `$before`
   * where it pages both ways.
   */
  list?: RestList
  /** The key by which each entry of the body's `data` is replaced, for nouns with a field that shows all of them. */
  entriesBy?: string
  /** For a stream: the variable that `Last-Event-ID` fills. */
  cursor?: string
  /**
   * For a stream that browsers open with EventSource: the credential may also be the query parameter `token`; the
   * header takes precedence.
   */
  tokenInQuery?: true
  /** For a stream: an event is the same object for all subscribers, and is serialized once. */
  sameForAll?: true
  /** For a stream: one that is resumed at its end answers 204, which makes a browser stop reconnecting. */
  ends?: true
  /** For a body that is one JSON value: its schema, for OpenAPI. */
  body?: JsonSchema
  /** Variables with another name in the query, such as `types[]`; the variable's own name is accepted too. */
  queryNames?: Readonly<Record<string, string>>
  /** Needs no credentials and ignores them; rate limits apply to the caller's address. */
  open?: true
  /** Headers of every answer, errors too. */
  headers?: Readonly<Record<string, string>>
  /**
   * For a stream of the agents service. `named`: every frame names its kind, as Anthropic's clients want it; `ui`: the
   * AI SDK's UI message stream.
   */
  frames?: 'named' | 'ui'
  /** The maximum body in bytes, where it differs from the surface's. */
  bodyBytes?: number
  /** Its answers may have many MiB, and are serialized in steps. */
  large?: true
  /** Nouns whose absence is answered 403, because the interface lists no 404 for them here. */
  absentIs403?: readonly string[]
  /**
   * For a deletion: what it deletes. A request with the header `anthropic-beta` gets 200 and
   * `{id, type: "<kind>_deleted"}` instead of 204, as that client expects; the id is the path's last parameter. With the
   * status 200 every request does, for paths where that client does not send the header.
   */
  deletes?: string
  /**
   * The document for a request with the header `anthropic-beta`, where that client expects another form of the answer.
   * It has the same variables.
   */
  forAnthropic?: string
  /** An API key is refused here with 401, whatever its scopes allow elsewhere. */
  peopleOnly?: true
  /** A second path that is answered the same, and that OpenAPI does not name. */
  alias?: string
  /** An addition of ours to the documented interface, marked so in OpenAPI. */
  additive?: true
}

/** Routes by `METHOD /path`. */
export type Routes = Readonly<Record<string, Route>>

/** Answers a request. */
export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** A JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * A path with a hand-written handler, because no document can answer it: `reason` says why. Its body and answers are
 * described by hand too, and a test compares them with real ones.
 */
export type HandWritten = {
  reason: string
  /** Its name for OpenAPI, as a document has one. */
  name: string
  status: 200 | 202 | 303
  errors: readonly number[]
  summary: string
  /** The body, by media type; empty when there is none. */
  requests: Readonly<Record<string, JsonSchema>>
  /** By media type; without the JSON of a route in `answersAs`. */
  responses: Readonly<Record<string, JsonSchema>>
  /** The route whose answer this is, about what the handler made: `show` makes it. */
  answersAs?: string
  /** Headers of the answer, each with a sentence. */
  headers: Readonly<Record<string, string>>
  /** Further answers without an error's body, by status, each with a sentence. */
  otherAnswers?: Readonly<Record<number, string>>
  /** Parameters besides those in the path, as OpenAPI writes them. */
  parameters?: readonly JsonSchema[]
  /** A signed URL needs no credentials. */
  takesSignedUrls?: true
  /** Its body is a stream of any length and type, which the handler reads. */
  takesStream?: true
  /** Needs no credentials: its handler says what lets a request in. */
  open?: true
  /** An addition of ours to the documented interface, marked so in OpenAPI. */
  additive?: true
  /** The body of its errors, where its clients read another one than the surface's, and the schema of that. */
  failure?: { envelope: Surface['envelope']; schema: JsonSchema }
  /**
   * `admit` runs before the body is read, so that a refused request's 32 MB are never read; what it throws is the
   * answer.
   */
  make: (parts: HandWrittenParts) => {
    admit: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
    handle: Handler
  }
}

/** A documented surface. */
export type Surface = {
  name: 'infra' | 'agents' | 'llm'
  title: string
  /** The prefix of its documented paths, and the part of both that all its paths share. */
  mount: string
  prefix: string
  /** The path of its OpenAPI document. */
  openapiPath: string
  routes: Routes
  /** Paths answered by hand, by `METHOD /path`. */
  handlers: Readonly<Record<string, HandWritten>>
  /** Beginnings of paths that clients of the surface know and Berth does not have, each with a sentence that says what to use. */
  absent?: Readonly<Record<string, string>>
  bodyBytes: number
  /**
   * Whether unknown parameters and fields are ignored. Other surfaces refuse them, because a dropped restriction would
   * widen rights.
   */
  takesUnknownKeys: boolean
  /** The documented body of an error. */
  envelope: (error: BerthError, requestId: string) => Record<string, unknown>
  /** The body of an error for Anthropic's clients, where they read another one. */
  anthropicEnvelope?: Surface['envelope']
  /** Headers of an error besides those of every surface. */
  errorHeaders?: (error: BerthError) => Record<string, string>
}

/** What the surfaces are served with. */
export type SurfaceParts = { services: Services; schema: GraphQLSchema; authenticator: Authenticator }

/** What handlers are made with: `show` answers as the route in `answersAs`, with these variables. */
export type HandWrittenParts = SurfaceParts & {
  stopping: AbortSignal
  show: (variables: Readonly<Record<string, unknown>>, call: Call) => Promise<string>
}
