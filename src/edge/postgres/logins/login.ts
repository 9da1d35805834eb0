/** Lets a client prove who it is. What is not there and what is wrong look the same. */
import type { Socket } from 'node:net'
import type { Network } from '#src/drivers/project-door.ts'
import { limits } from '#src/platform/limits.ts'
import { readVerifier, type Verifier } from '#src/platform/secrets/scram-verifiers.ts'
import type { Admission, Directory, Found } from '../directory.ts'
import type { FailedLogins } from './failed-logins.ts'
import type { Incoming } from '../protocol/incoming.ts'
import { authentication, authenticationMessage, fromClient, int32 } from '../protocol/messages.ts'
import { changedMeanwhile, loginRefused, PostgresRefusal, violation } from '../refusals.ts'
import { mechanisms, mockVerifier, scramServer } from './scram.ts'
import type { Startup } from './startup.ts'

/** Who wants in, and how to reach them. */
export type Newcomer = {
  stream: Socket
  incoming: Incoming
  startup: Startup
  tls: { serverName: string | null; endPoint: Buffer } | null
  address: string
  network?: Network | undefined
}

/** What a login needs beside the newcomer. */
export type LoginSupport = { directory: Directory; failedLogins: FailedLogins; derive: (purpose: string) => string }

/** Runs the login up to AuthenticationOk, which it does not send. @throws PostgresRefusal; Ended */
export async function logIn(newcomer: Newcomer, { directory, failedLogins, derive }: LoginSupport): Promise<Admission> {
  const { startup, tls, address, network } = newcomer
  const { user, database } = startup
  const asked = { user, database, serverName: tls?.serverName ?? null, network }
  const found = await directory.find(asked)
  const admission = await prove(newcomer, found, derive)
  // By what was asked for, and not by what was found: nobody learns from it which names belong together.
  if (!admission) throw (await failedLogins.failed(address, asked)) ? tooManyFailed() : loginRefused(user)
  if (admission.refusal) throw admission.refusal
  if (!admission.isCurrent()) throw changedMeanwhile()
  return admission
}

function tooManyFailed(): PostgresRefusal {
  return new PostgresRefusal(
    'invalid_authorization_specification',
    'too many failed logins from this address, and this one has failed too: check the password',
    'A right password is let in at once; wrong ones are answered late for a minute.',
  )
}

async function prove(newcomer: Newcomer, found: Found, derive: (purpose: string) => string): Promise<Admission | null> {
  const { tls } = newcomer
  switch (found.by) {
    case 'nothing':
      return found.admission
    case 'token': {
      if (!tls)
        throw new PostgresRefusal(
          'invalid_authorization_specification',
          'a token is taken on an encrypted connection only',
          'Add sslmode=require to the connection string.',
        )
      return found.check(await askPassword(newcomer))
    }
    case 'password':
      return (await exchange(newcomer, readVerifier(found.verifier))) ? found.admission : null
    case 'role': {
      const verifier = readVerifier(found.verifier)
      const clientKey = await exchange(newcomer, verifier)
      return clientKey && found.admit({ clientKey, serverKey: verifier.serverKey })
    }
    case 'nobody':
      await exchange(newcomer, mockVerifier(derive, found.alike))
      return null
  }
}

/** SCRAM with this verifier; the key by which the client proves that it knows the password, or null. */
async function exchange({ stream, incoming, tls }: Newcomer, verifier: Verifier): Promise<Buffer | null> {
  const offered = tls ? [mechanisms.bound, mechanisms.plain] : [mechanisms.plain]
  stream.write(authenticationMessage(authentication.sasl, `${offered.join('\0')}\0\0`))
  const server = scramServer(verifier, tls?.endPoint ?? null)
  const initial = await readLogin(incoming)
  const nameEnds = initial.indexOf(0)
  if (
    nameEnds < 0 ||
    initial.length < nameEnds + 5 ||
    initial.readInt32BE(nameEnds + 1) !== initial.length - nameEnds - 5
  )
    throw violation('malformed SASL message')
  const first = server.first(initial.toString('latin1', 0, nameEnds), initial.toString('utf8', nameEnds + 5))
  stream.write(authenticationMessage(authentication.saslContinue, first))
  const final = server.final((await readLogin(incoming)).toString('utf8'))
  if (final === null) return null
  stream.write(authenticationMessage(authentication.saslFinal, final))
  return server.clientKey()
}

async function askPassword({ stream, incoming }: Newcomer): Promise<string> {
  stream.write(authenticationMessage(authentication.password))
  const content = await readLogin(incoming, limits.tokenLength)
  if (content.at(-1) !== 0) throw violation('malformed password message')
  return content.toString('utf8', 0, content.length - 1)
}

async function readLogin(incoming: Incoming, bytesMax: number = limits.postgresLoginBytes): Promise<Buffer> {
  const { type, content } = await incoming.message(bytesMax)
  if (type !== fromClient.login) throw violation('expected a password response')
  return content
}

/** The client's first answer to an offer of SASL, for logging in to a server. */
export function saslInitial(mechanism: string, text: string): Buffer {
  return Buffer.concat([Buffer.from(`${mechanism}\0`), int32(Buffer.byteLength(text)), Buffer.from(text)])
}
