/** How this host gets Debian packages, and which authorities it trusts: templates are built the same way, so an isolated network's mirrors work. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)
const aptTimeoutMs = 20_000
const release = 'trixie'
const standard = { archive: 'http://deb.debian.org/debian', security: 'http://security.debian.org/debian-security' }
const bundle = '/etc/ssl/certs/ca-certificates.crt'
/** Debian's own list of authorities has about 150; a bundle with more extra ones than this is not read. */
const extraAuthoritiesMax = 100

/** sources.list for the build, and the settings of this host's apt that it needs too. */
export async function hostPackages(): Promise<{ sources: string; options: readonly string[] }> {
  const { archive, security } = await mirrors()
  const sources = [
    `deb ${archive} ${release} main`,
    `deb ${archive} ${release}-updates main`,
    `deb ${security} ${release}-security main`,
  ]
  return {
    sources: `${sources.join('\n')}\n`,
    options: ['Acquire::Languages "none"', 'APT::Install-Recommends "false"', ...(await aptSettings())],
  }
}

/** Where a Debian host has its packages from; elsewhere, Debian's own servers. */
async function mirrors(): Promise<{ archive: string; security: string }> {
  try {
    const { stdout } = await run('apt-get', ['indextargets', '--format', '$(LABEL)\t$(REPO_URI)'], {
      timeout: aptTimeoutMs,
    })
    const places = stdout.split('\n').map((line) => line.split('\t'))
    const find = (label: string): string | undefined =>
      places.find(([name, uri]) => name === label && uri?.startsWith('http'))?.[1]?.replace(/\/$/, '')
    return { archive: find('Debian') ?? standard.archive, security: find('Debian-Security') ?? standard.security }
  } catch {
    return standard // no apt-get here, or one that cannot say
  }
}

/** Proxies and the like; they are taken out of the template again. */
async function aptSettings(): Promise<string[]> {
  try {
    const { stdout } = await run('apt-config', ['dump'], { timeout: aptTimeoutMs })
    return stdout
      .split('\n')
      .filter((line) => /^Acquire::(https?::|Check-|ForceIPv4)/i.test(line))
      .map((line) => line.replace(/;$/, ''))
  } catch {
    return []
  }
}

/** The certificate authorities that an operator added to this host. Guests trust them too; behind a company's gateway nothing would work otherwise. */
export function hostAuthorities(): readonly string[] {
  if (!existsSync(bundle)) return []
  const ofDebian = new Set(debianAuthorities())
  const all = readFileSync(bundle, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return all
    .filter((certificate) => !ofDebian.has(certificate))
    .map((certificate) => `${certificate}\n`)
    .slice(0, extraAuthoritiesMax)
}

function debianAuthorities(): string[] {
  const list = '/etc/ca-certificates.conf'
  if (!existsSync(list)) return []
  const names = readFileSync(list, 'utf8')
    .split('\n')
    .filter((line) => line && !line.startsWith('#') && !line.startsWith('!'))
  return names
    .map((name) => `/usr/share/ca-certificates/${name}`)
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8').trim())
}
