/** Builds the console: `npm run console`, and the web process where the build of its source is missing. It takes some 600 MB. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'
import { nowMs } from '#src/platform/clock.ts'
import { readConfig } from '#src/platform/config.ts'
import { assetsPath, buildsFolder, consoleSource, currentBuild, noncePlaceholder } from './places.ts'

/** Builds that are kept: this one, and the one that open tabs may still load from. */
const buildsKept = 2
/** So long is any other kept after somebody has used it, such as another checkout’s on this host. */
const usedMs = 24 * 3_600_000
const smallestBytes = 1024
const textFiles = /\.(?:js|css|html|svg)$/

/** Builds it unless it is there. @returns its folder. */
export async function buildConsole(cacheDir: string): Promise<string> {
  const place = currentBuild(cacheDir)
  if (statSync(place, { throwIfNoEntry: false })) return place
  const folder = buildsFolder(cacheDir)
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  const making = mkdtempSync(join(folder, '.making-'))
  try {
    await build({
      root: consoleSource,
      base: assetsPath,
      configFile: false,
      logLevel: 'warn',
      html: { cspNonce: noncePlaceholder },
      // The cache has one build of a source: it is the same whoever builds it, tests too, whose NODE_ENV vite would follow.
      define: { 'process.env.NODE_ENV': '"production"' },
      oxc: { jsx: { runtime: 'automatic', development: false } },
      resolve: { conditions: ['module', 'browser', 'production'] },
      build: {
        outDir: making,
        emptyOutDir: true,
        target: 'es2023',
        modulePreload: { polyfill: false },
        assetsInlineLimit: 0,
        chunkSizeWarningLimit: 1_000, // kB before compression; what the first page may weigh is in test/bench
        rolldownOptions: { checks: { moduleLevelDirective: false } }, // what "use client" says is for servers that render
      },
    })
    compressFiles(making)
    rename(making, place)
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  removeOld(folder, basename(place))
  return place
}

/** Two processes may have built it. */
function rename(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (!statSync(to, { throwIfNoEntry: false })) throw error
  }
}

/** Puts each text file's brotli and gzip beside it. */
function compressFiles(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name)
    if (!textFiles.test(name) || statSync(path).size < smallestBytes) continue
    const text = readFileSync(path)
    writeFileSync(`${path}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
    writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }))
  }
}

/** A build’s folder has the time at which it was made, or its files were last asked for (pages.ts). */
function removeOld(folder: string, kept: string): void {
  const builds = readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .map((name) => ({ name, lastMs: statSync(join(folder, name)).mtimeMs }))
    .sort((one, other) => other.lastMs - one.lastMs)
    .filter(({ name }) => name !== kept)
  const old = builds.slice(buildsKept - 1).filter(({ lastMs }) => nowMs() - lastMs > usedMs)
  for (const { name } of old) rmSync(join(folder, name), { recursive: true, force: true })
}

if (import.meta.main) process.stdout.write(`${await buildConsole(readConfig().cacheDir)}\n`)
