/** Compares what a file says with what Berth has. */
import { isDeepStrictEqual } from 'node:util'
import { pathOf } from './json-schema.ts'
import type { Fields } from './section.ts'

/** What is different in a field. `isHidden`: neither value is to be shown. */
export type Difference = { path: string; from: unknown; to: unknown; isHidden?: true }

/** Maps that are as the file has them, without further pairs. */
const maps = ['metadata', 'settings', 'variables', 'env']

/**
 * What is different in a field. Of objects inside it, what the file leaves out is not looked at, since Berth fills in
 * defaults; maps and lists are as the file has them.
 */
export function differencesOf(path: string, key: string, wanted: unknown, current: unknown): Difference[] {
  if (isSame(key, wanted, current)) return []
  if (maps.includes(key)) {
    const [to, from] = [isFields(wanted) ? wanted : {}, isFields(current) ? current : {}]
    const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter((one) => from[one] !== to[one])
    return keys.map((one) => ({ path: pathOf(path, one), from: from[one] ?? null, to: to[one] ?? null }))
  }
  // An input of one member is another one as a whole.
  const isOneOf = isFields(wanted) && Object.keys(wanted).some((one) => !isFields(current) || !(one in current))
  if (!isFields(wanted) || !isFields(current) || isOneOf) return [{ path, from: current ?? null, to: wanted }]
  return Object.entries(wanted).flatMap(([one, value]) => differencesOf(pathOf(path, one), one, value, current[one]))
}

/** Whether it is what the file wants. */
export function isSame(key: string, wanted: unknown, current: unknown): boolean {
  if (isEmpty(wanted) && isEmpty(current)) return true
  if (maps.includes(key) || key === 'inputSchema') return isDeepStrictEqual(wanted, current)
  if (Array.isArray(wanted))
    return (
      Array.isArray(current) &&
      wanted.length === current.length &&
      wanted.every((one, at) => isSame('', one, current[at]))
    )
  if (isFields(wanted))
    return isFields(current) && Object.entries(wanted).every(([one, value]) => isSame(one, value, current[one]))
  if (key === 'amount') return Number(wanted) === Number(current)
  if (key === 'path' && typeof wanted === 'string') return [wanted, `/home/user/${wanted}`].includes(String(current))
  return wanted === current
}

/** The pairs that make one map of the other: null for those that go. */
export function patchOf(wanted: unknown, current: unknown): Fields {
  const [to, from] = [isFields(wanted) ? wanted : {}, isFields(current) ? current : {}]
  const gone = Object.keys(from).filter((key) => !Object.hasOwn(to, key))
  return { ...to, ...Object.fromEntries(gone.map((key) => [key, null])) }
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  return Array.isArray(value) ? value.length === 0 : isFields(value) && Object.keys(value).length === 0
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
