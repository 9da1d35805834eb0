/** Requests of clients, and where the answers to them go, in whatever way they are read. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { SimpleAnswer } from './simple/answers.ts'
import type { SimpleRequest } from './simple/requests.ts'

/** A client's request. */
export type Incoming = IncomingMessage | Http2ServerRequest | SimpleRequest
/** Where an answer goes. */
export type Outgoing = ServerResponse | Http2ServerResponse | SimpleAnswer
