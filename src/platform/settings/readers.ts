/** How the text of a setting is parsed, and the description of valid values. */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { z } from 'zod'
import { withoutEnding } from '#src/platform/texts.ts'
import { isRoot } from './places.ts'

/** Parses one kind of value; `wanted` completes the sentence "<setting> must be …". */
export type Reader<Value> = { kind: z.ZodType<Value, string>; wanted: string }

/** Numbers of system users, both ends included. */
export type UidRange = { first: number; last: number }

/** The formats of log lines. */
export const logFormats = ['auto', 'json', 'pretty'] as const
export type LogFormat = (typeof logFormats)[number]
/** The log levels. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** A text that is allowed in a header. */
export const headerText = z.string().regex(/^[\x21-\x7e]{1,4096}$/)

const portText = z
  .string()
  .regex(/^\d{1,5}$/)
  .transform(Number)
  .refine((port) => port >= 1 && port <= 65_535)
const moneyText = z
  .string()
  .regex(/^\d+(\.\d+)?$/)
  .transform(Number)
const countText = z
  .string()
  .regex(/^\d{1,6}$/)
  .transform(Number)

/** A text that is allowed in a header. */
export const headerTextOf = (wanted: string): Reader<string> => ({ kind: headerText, wanted })

/** Any text that is not empty. */
export const text = (wanted: string, lengthMin = 1): Reader<string> => ({ kind: z.string().min(lengthMin), wanted })

/** A text of this form. */
export const textLike = (form: RegExp, wanted: string): Reader<string> => ({ kind: z.string().regex(form), wanted })

/** A file or folder; a relative path is relative to the folder in which the process was started. */
export const path = (wanted: string): Reader<string> => ({
  kind: z
    .string()
    .min(1)
    .transform((given) => resolve(given)),
  wanted,
})

/** An http or https URL. */
export const httpUrl = (wanted: string): Reader<string> => ({ kind: z.url({ protocol: /^https?$/ }), wanted })

/** A mail server. */
export const smtpUrl: Reader<string> = {
  kind: z.url({ protocol: /^smtps?$/ }).refine((url) => URL.canParse(url) && isMailServer(new URL(url))),
  wanted: 'a mail server, such as smtp://user:password@mail.example.com:587 or smtps://mail.example.com',
}

function isMailServer({ hostname, pathname, search, hash, username, password }: URL): boolean {
  return hostname !== '' && /^\/?$/.test(pathname) && search === '' && hash === '' && isEncoded(username + password)
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false // as of a lone %, or of bytes that are no UTF-8
  }
}

/** The sender of e-mail. */
export const mailFrom: Reader<string> = {
  kind: z
    .string()
    .regex(/^(?:[^<>"@\r\n]{0,100}<[^\s<>@]{1,64}@[A-Za-z0-9.-]{1,185}>|[^\s<>@]{1,64}@[A-Za-z0-9.-]{1,185})$/),
  wanted: 'an address, such as berth@example.com or Berth <berth@example.com>',
}

/** A URL to which paths are added: without slashes at its end. */
export const baseUrl = (wanted: string): Reader<string> => ({
  kind: z.url({ protocol: /^https?$/ }).transform((url) => withoutEnding(url, '/')),
  wanted,
})

/** A key of a service, which must fit into a header. */
export const keyOf = (service: string): Reader<string> => ({ kind: headerText, wanted: `a key of the ${service} API` })

/** A whole number, at least this one and at most 999,999. */
export const count = (wanted: string, least = 0, most = 999_999): Reader<number> => ({
  kind: countText.refine((number) => number >= least && number <= most),
  wanted,
})

/** US dollars. */
export const dollars = (example: string): Reader<number> => ({
  kind: moneyText,
  wanted: `US dollars, such as ${example}`,
})

/** One of these words. */
export const oneOf = <Word extends string>(words: readonly [Word, ...Word[]]): Reader<Word> => ({
  kind: z.enum(words) as z.ZodType<Word, string>, // zod names the words as an object
  wanted: `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`,
})

/** A port. */
export const port: Reader<number> = { kind: portText, wanted: 'a port from 1 to 65535' }

/** On or off. */
export const onOff: Reader<boolean> = {
  kind: z
    .enum(['0', '1', 'true', 'false', 'on', 'off'])
    .transform((word) => ['1', 'true', 'on'].includes(word)) as z.ZodType<boolean, string>, // any other text is refused
  wanted: 'on or off',
}

/** A whole number that multiplies. */
export const factor: Reader<number> = {
  kind: z
    .string()
    .regex(/^[1-9]\d{0,6}$/)
    .transform(Number),
  wanted: 'a whole number from 1: how many times the usual limits',
}

/** Ports, separated by commas. */
export const ports: Reader<readonly number[]> = {
  kind: z.string().transform(parts).pipe(z.array(portText)),
  wanted: 'host ports separated by commas, such as 3000,8080',
}

/** Hosts with ports, separated by commas. */
export const hostsWithPorts: Reader<readonly string[]> = {
  kind: z
    .string()
    .transform((given) => parts(given.toLowerCase()))
    .pipe(z.array(z.string().regex(/^(?:\[[0-9a-f:.]+\]|[a-z0-9_.-]{1,253}):\d{1,5}$/)).max(100)),
  wanted: 'hosts with ports separated by commas, such as 10.0.0.5:8080,tools.internal:443',
}

/** Addresses and networks, separated by commas. */
export const addresses: Reader<readonly string[]> = {
  kind: z
    .string()
    .transform(parts)
    .pipe(z.array(z.string().refine(isNetwork)).max(100)),
  wanted: 'addresses and networks separated by commas, such as 10.0.0.5,10.1.0.0/16,fd00::/8',
}

/** Name servers: addresses, with or without a port. */
export const servers: Reader<readonly string[]> = {
  kind: z
    .string()
    .transform(parts)
    .pipe(z.array(z.string().refine(isServer)).max(10)),
  wanted: 'addresses separated by commas, such as 9.9.9.9,127.0.0.1:5353,[::1]:53',
}

/** Names, separated by commas. */
export const names: Reader<readonly string[]> = {
  kind: z
    .string()
    .transform(parts)
    .pipe(z.array(z.string().min(1).max(255)).max(100)),
  wanted: 'names separated by commas',
}

/** Origins as browsers send them in the header Origin: nothing after the port, no patterns. */
export const origins: Reader<readonly string[]> = {
  kind: z
    .string()
    .transform(parts)
    .pipe(z.array(z.string().refine(isOrigin)).max(100)),
  wanted:
    'origins separated by commas, each exact, such as https://app.example.com,http://localhost:5173; * is not allowed',
}

/** Origins to which browsers are sent with something secret: https, or this machine's own. */
export const returnOrigins: Reader<readonly string[]> = {
  kind: origins.kind.pipe(
    z.array(z.string().refine((origin) => /^https:|^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::|$)/.test(origin))),
  ) as z.ZodType<readonly string[], string>, // the same list
  wanted:
    'origins separated by commas, each exact, such as https://app.example.com,http://localhost:5173; http:// only on localhost',
}

/** A range of user numbers: above those of people, and valid for processes. Null without root. */
export const uidRange: Reader<UidRange | null> = {
  kind: z
    .string()
    .regex(/^\d{4,10}-\d{4,10}$/)
    .transform((given) => {
      const [first = 0, last = 0] = given.split('-').map(Number)
      return { first, last }
    })
    .refine(({ first, last }) => first > 1000 && last < 2 ** 31 && last - first >= 99)
    .transform((range) => (isRoot() ? range : null)),
  wanted: 'a range of at least 100 numbers of system users that nobody has, such as 50000-59999',
}

/** The key that seals secrets. */
export const sealingKey: Reader<string> = {
  kind: z.string().refine((given) => Buffer.from(given, 'base64').length === 32),
  wanted: '32 bytes as base64: openssl rand -base64 32',
}

function parts(given: string): string[] {
  return given
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
}

function isOrigin(given: string): boolean {
  const url = URL.parse(given)
  return (
    url !== null &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.origin === given &&
    !given.includes('*')
  )
}

function isNetwork(given: string): boolean {
  const [address = '', bits, more] = given.split('/')
  const family = isIP(address)
  const isRange = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32))
  return family !== 0 && isRange && more === undefined
}

function isServer(given: string): boolean {
  const [, inBrackets, plain, portDigits] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(given) ?? [
    null,
    null,
    given,
  ]
  return isIP(inBrackets ?? plain ?? '') !== 0 && (portDigits === undefined || portText.safeParse(portDigits).success)
}
