/** `berth`: reads the words, runs the command, and ends with its exit code. */
import { readFileSync } from 'node:fs'
import { CommanderError } from 'commander'
import { ContextStore, type Target } from './contexts.ts'
import { exitOf, exits, isBerthError, sentenceOf } from './errors.ts'
import { mistakeOf, type Cli, type Given, type Runner } from './grammar.ts'
import { endWith } from './interrupts.ts'
import { Output } from './output.ts'
import { makeProgram } from './program.ts'
import { linesOf } from './text.ts'
import type { Berth } from '../src/client/berth.ts'

const { env } = process

function readVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
  return manifest.version
}

/** What a command works with, as its options say. */
function cliOf(options: Given): Cli {
  const out = new Output({
    json: options.flag('json'),
    quiet: options.flag('quiet'),
    colours: process.stdout.isTTY === true && process.stdout.hasColors(), // which reads NO_COLOR, TERM and CI
  })
  const contexts = new ContextStore(env)
  let target: Target | undefined
  let berth: Promise<Berth> | undefined
  const targetOf = (): Target =>
    (target ??= contexts.target({ context: options.text('context'), organization: options.text('org') }))
  const connect = async (): Promise<Berth> => {
    const { url, token, organization } = targetOf()
    const { connect: open } = await import('./connect.ts')
    return open({ url, token, organization })
  }
  return {
    out,
    contexts,
    env,
    isConfirmed: options.flag('yes'),
    version: readVersion(),
    target: targetOf,
    berth: () => (berth ??= connect()),
  }
}

const run: Runner = async (verb, args, options, rest) => {
  try {
    const cli = cliOf(options)
    if (['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].some((name) => env[name]))
      (await import('./proxy.ts')).useProxies(cli)
    process.exitCode = (await verb.run(cli, args, options, rest)) ?? 0
  } catch (error) {
    const exit = exitOf(error)
    const isOwn = verb.passesExit && exit !== exits.usage && exit !== exits.interrupted
    fail(sentenceOf(error), isOwn ? exits.ownFailure : exit)
    if (isBerthError(error) && error.status === 400) await adviseOnVersion(options)
  }
}

/** A graph of another version refuses what ours asks, so say which they are. */
async function adviseOnVersion(options: Given): Promise<void> {
  try {
    const { compareVersions } = await import('./commands/status.ts')
    const cli = cliOf(options)
    const { version } = await (await cli.berth()).instance({ timeoutSeconds: 5 })
    const advice = compareVersions(cli.version, version)
    if (advice) process.stderr.write(`${advice}\n`)
  } catch (error) {
    process.stderr.write(`The version of Berth is not known: ${linesOf(sentenceOf(error))}\n`)
  }
}

function fail(sentence: string, exit: number): void {
  process.stderr.write(`berth: ${linesOf(sentence)}\n`)
  process.exitCode = exit
}

async function main(words: readonly string[]): Promise<void> {
  // Whoever reads us may stop reading, as `head` does: that is no failure.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return endWith(0)
      if (stream === process.stdout) process.stderr.write(`berth: The output cannot be written: ${error.message}\n`)
      endWith(exits.failed)
    })
  process.on('SIGINT', () => endWith(exits.interrupted))
  process.on('SIGTERM', () => endWith(exits.ended))
  const isVersion = words.length === 1 && ['--version', '-v', '-V'].includes(words[0] ?? '')
  const asked = words[0] === 'help' ? [...words.slice(1), '--help'] : isVersion ? ['version'] : words
  try {
    if (words[0] === 'complete' && words[1] === '--') await (await import('./completion.ts')).complete(words.slice(2))
    else await makeProgram(run).parseAsync([...asked], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) fail(sentenceOf(error), exitOf(error))
    else if (error.exitCode === 0) process.exitCode = 0
    else if (error.code === 'commander.help') process.exitCode = exits.usage
    else fail(mistakeOf(error, asked), exits.usage)
  }
  // Sockets may be open for a moment. What was printed is written first, however slow its reader is.
  // An error of writing is told after that, and has an exit code of its own.
  process.stdout.write('', () => process.stderr.write('', () => setImmediate(() => process.exit())))
}

await main(process.argv.slice(2))
