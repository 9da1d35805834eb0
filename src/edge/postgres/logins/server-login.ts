/** How the proxy logs in to the server of a database. */
import type { Duplex } from 'node:stream'
import type { Admission } from '../directory.ts'
import type { Incoming } from '../protocol/incoming.ts'
import { authentication, fromClient, fromServer, message, readParameter } from '../protocol/messages.ts'
import { loginFailure, ServerRefused } from '../server-refusals.ts'
import { saslInitial } from './login.ts'
import { mechanisms, scramClient } from './scram.ts'

const loginBytes = 64 * 1024

/** What a server says of a session that has begun, up to the first ReadyForQuery. */
export type ServerSession = { parameters: Map<string, string>; processId: number; secret: number }

/** Logs in to a server, behind the startup packet, by a password or the keys of one. @throws LoginLost; LoginTaken; ServerRefused; Error */
export async function logInTo(
  stream: Duplex,
  incoming: Incoming,
  { password, forwardsErrors }: Admission['server'],
): Promise<ServerSession> {
  const session: ServerSession = { parameters: new Map(), processId: 0, secret: 0 }
  const scram = scramClient(password ?? '')
  for (;;) {
    const { type, content } = await incoming.message(loginBytes)
    if (type === fromServer.ready) return session
    if (type === fromServer.error) throw forwardsErrors ? new ServerRefused(content) : loginFailure(content)
    if (type === fromServer.parameterStatus) session.parameters.set(...readParameter(content))
    else if (type === fromServer.backendKey) {
      session.processId = content.readInt32BE(0)
      session.secret = content.readInt32BE(4)
    } else if (type === fromServer.authentication) {
      const answer = await answerTo(content, password, scram)
      if (answer) stream.write(message(fromClient.login, answer))
    } else if (type !== fromServer.notice && type !== fromServer.negotiateVersion)
      throw new Error(`unexpected message ${type} of the server`)
  }
}

async function answerTo(
  content: Buffer,
  password: Admission['server']['password'],
  scram: ReturnType<typeof scramClient>,
): Promise<Buffer | null> {
  const step = content.readInt32BE(0)
  const text = content.toString('utf8', 4)
  if (step === authentication.ok) return null
  if (password === null) throw new Error('the server wants a password, and there is none')
  if (step === authentication.password && typeof password === 'string') return Buffer.from(`${password}\0`)
  if (step === authentication.sasl) {
    if (!text.split('\0').includes(mechanisms.plain)) throw new Error('the server does not offer SCRAM-SHA-256')
    return saslInitial(mechanisms.plain, scram.first)
  }
  if (step === authentication.saslContinue) return Buffer.from(await scram.final(text))
  if (step === authentication.saslFinal && scram.proves(text)) return null
  throw new Error('the server asks for a login that is not known here, or does not know the password itself')
}
