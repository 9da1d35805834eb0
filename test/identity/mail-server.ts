/** A mail server for tests: takes what is sent, and answers as it is told. */
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { freePort } from '../support/ports.ts'

/** What came: to whom, and the whole text. */
export type TakenMail = { from: string; to: string[]; text: string }

/** The server. `answer`: what the next one that is sent is answered instead of being taken. */
export type MailServer = {
  url: string
  mails: TakenMail[]
  /** How many were sent, those too that were not taken. */
  tries: number
  answer: { code: number; text: string; to: 'recipient' | 'mail' } | null
  close(): Promise<void>
}

/** Starts one. `login`: the user and password that it wants. */
export async function startMailServer(login?: { user: string; password: string }): Promise<MailServer> {
  const port = await freePort()
  const refusal = (at: 'recipient' | 'mail'): Error | null => {
    const { answer } = server
    return answer?.to === at ? Object.assign(new Error(answer.text), { responseCode: answer.code }) : null
  }
  const options: SMTPServerOptions = {
    authOptional: login === undefined,
    disabledCommands: ['STARTTLS', ...(login ? [] : ['AUTH'])],
    allowInsecureAuth: true,
    onAuth({ username, password }, _session, done) {
      if (username === login?.user && password === login?.password) done(null, { user: username })
      else done(Object.assign(new Error('Invalid login'), { responseCode: 535 }))
    },
    onRcptTo(_address, _session, done) {
      server.tries++
      done(refusal('recipient'))
    },
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const refused = refusal('mail')
        if (!refused)
          server.mails.push({
            from: envelope.mailFrom ? envelope.mailFrom.address : '',
            to: envelope.rcptTo.map(({ address }) => address),
            text: Buffer.concat(chunks).toString(),
          })
        done(refused)
      })
    },
  }
  const listening = new SMTPServer(options)
  const server: MailServer = {
    url: `smtp://${login ? `${login.user}:${encodeURIComponent(login.password)}@` : ''}127.0.0.1:${port}`,
    mails: [],
    tries: 0,
    answer: null,
    close: () => new Promise<void>((resolve) => listening.close(() => resolve())),
  }
  await new Promise<void>((resolve) => listening.listen(port, '127.0.0.1', () => resolve()))
  return server
}
