/** Packs the command line by itself: `npm run pack:cli`. The package has no dependencies, and runs on Node 20. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build } from 'vite'

const checkout = join(import.meta.dirname, '../..')

/** Makes the package in the folder. @returns the path of its file, `berth-cli-<version>.tgz`. */
export async function packCli(folder: string): Promise<string> {
  const { version, license } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as Record<
    string,
    string
  >
  const making = mkdtempSync(join(tmpdir(), 'berth-pack-'))
  try {
    const place = join(making, 'package')
    await build({
      root: checkout,
      configFile: false,
      logLevel: 'warn',
      define: { 'process.env.NODE_ENV': '"production"' },
      ssr: { target: 'node', noExternal: true, external: ['bufferutil', 'utf-8-validate'] }, // ws goes without these two
      build: {
        ssr: join(checkout, 'cli/main.ts'),
        outDir: join(place, 'dist'),
        emptyOutDir: true,
        target: 'node20',
        minify: true,
        rolldownOptions: {
          output: {
            entryFileNames: 'main.js',
            chunkFileNames: '[name]-[hash].js',
            banner: ({ isEntry }) => (isEntry ? '#!/usr/bin/env node' : ''),
          },
        },
      },
    })
    const manifest = {
      name: 'berth-cli',
      version,
      description: 'The command line of Berth',
      license,
      type: 'module',
      bin: { berth: 'dist/main.js' },
      files: ['dist'],
      engines: { node: '>=20' },
    }
    writeFileSync(join(place, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
    cpSync(join(checkout, 'LICENSE'), join(place, 'LICENSE'))
    mkdirSync(folder, { recursive: true })
    const file = join(folder, `berth-cli-${version}.tgz`)
    execFileSync('tar', ['-C', making, '-czf', file, 'package'])
    return file
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
}

if (import.meta.main) process.stdout.write(`${await packCli(resolve(process.argv[2] ?? '.'))}\n`)
