/** What we are made of: exact versions, a lockfile that works everywhere, and what is installed is what is pinned. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readSources, productFolders, root } from './sources.ts'

type Manifest = {
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  optionalDependencies: Record<string, string>
  overrides: Record<string, string | Record<string, string>>
  scripts: Record<string, string>
}
type Lock = {
  lockfileVersion: number
  packages: Record<string, { version?: string; resolved?: string; integrity?: string; inBundle?: boolean }>
}

const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as Manifest
const lockText = readFileSync(`${root}/package-lock.json`, 'utf8')
const lock = JSON.parse(lockText) as Lock
const wanted = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies }

/** `npm:ai@5.0.277` is how an older version of a client is installed beside the newest. */
function withoutAlias(version: string): string {
  return version.replace(/^npm:.+@/, '')
}

test('every dependency has one exact version', () => {
  const overrides = Object.entries(manifest.overrides).flatMap(([name, version]) =>
    typeof version === 'string' ? [[name, version] as const] : Object.entries(version),
  )
  const loose = [...Object.entries(wanted), ...overrides].filter(
    ([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(withoutAlias(version)),
  )
  expect(loose).toEqual([])
})

test('the lockfile names no address, so that every network installs from its own registry', () => {
  expect(
    Object.entries(lock.packages)
      .filter(([, one]) => one.resolved !== undefined)
      .map(([path]) => path),
  ).toEqual([])
})

test('the lockfile knows the digest of every package', () => {
  expect(
    Object.entries(lock.packages)
      .filter(([path, one]) => path !== '' && !one.integrity && !one.inBundle)
      .map(([path]) => path),
  ).toEqual([])
})

test('the lockfile and what is installed are what package.json pins', () => {
  const wrong = Object.entries(wanted).flatMap(([name, version]) => {
    const locked = lock.packages[`node_modules/${name}`]?.version
    const file = `${root}/node_modules/${name}/package.json`
    // The runtime of the other processor is not installed here.
    const installed = existsSync(file)
      ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
      : name in manifest.optionalDependencies
        ? version
        : 'absent'
    return locked === withoutAlias(version) && installed === withoutAlias(version)
      ? []
      : [`${name}: pinned ${version}, locked ${locked}, installed ${installed}`]
  })
  expect(wrong).toEqual([])
})

test('there is one copy of graphql, and of what must be shared', () => {
  for (const name of ['graphql', 'fastify', 'pg', 'kysely', 'graphql-yoga', 'jose']) {
    expect(
      Object.keys(lock.packages).filter((path) => path.endsWith(`node_modules/${name}`)),
      name,
    ).toEqual([`node_modules/${name}`])
  }
  expect(manifest.dependencies['graphql']).toMatch(/^16\./)
})

test('every imported package is a dependency, and the product uses no development dependency', () => {
  const imported = (folders: readonly string[]): Set<string> =>
    new Set(
      readSources(folders).flatMap(({ text, code }) =>
        [...code.matchAll(/\b(?:from|import\()\s*['"]|^import\s+['"]/gm)]
          .map((match) => {
            const start = match.index + match[0].length
            const target = text.slice(start, start + text.slice(start).search(/['"]/))
            return target.startsWith('.') || target.startsWith('#') || target.startsWith('node:')
              ? ''
              : target
                  .split('/')
                  .slice(0, target.startsWith('@') ? 2 : 1)
                  .join('/')
          })
          .filter(Boolean),
      ),
    )
  expect([...imported(productFolders)].filter((name) => !(name in manifest.dependencies))).toEqual([])
  expect([...imported(['test'])].filter((name) => !(name in wanted))).toEqual([])
})

test('the commands that the documents name are there', () => {
  for (const name of [
    'start',
    'test',
    'test:fast',
    'lint',
    'format',
    'token',
    'doctor',
    'migrate',
    'schema',
    'tables',
    'check',
    'bench',
  ])
    expect(manifest.scripts).toHaveProperty(name)
})
