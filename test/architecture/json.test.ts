/** Where JSON is read as usual numbers only. Everything else keeps the numbers of what it passes on: json/numbers.ts. */
import { expect, test } from 'vitest'
import { productFolders, readSources } from './sources.ts'

/** Who may use JSON.parse, and why nothing of a caller's can be changed there. */
const reasons: Readonly<Record<string, string>> = {
  'src/platform/json/numbers.ts': 'it is what everybody else uses',
  'src/platform/json/pieces.ts': 'texts and escapes, no numbers',
  'src/platform/logs/lines.ts': 'lines of our own log',
  'src/platform/settings/issuers.ts': 'settings, which are computed with',
  'src/backup/': 'what backup wrote: counts and checksums',
  'src/drivers/compute/': 'what QEMU says, and our own records',
  'src/drivers/node.ts': 'between our own processes: commands, output and files',
  'src/drivers/node/': 'between our own processes: commands, output and files',
  'workers/infra/node-files.ts': 'between our own processes: places of files',
  'workers/predecessor.ts': 'our own file',
  'src/platform/metrics/last-backup.ts': 'our own file',
  'src/start/': 'our own files and answers',
  'src/gateway/graphiql-': 'runs in the browser, on what GraphiQL itself keeps',
  'src/resources/agents/turns/outcomes/grading.ts': 'a verdict, of which two texts are read',
  'cli/': 'a program of callers, which has JavaScript’s numbers; larger ones are texts in the graph',
  'src/client/': 'likewise',
  'src/resources/agents/vaults/credentials/rows.ts': 'sealed texts',
  'src/resources/agents/mcp-tools/kept-sessions.ts': 'sealed texts',
  'src/resources/agents/mcp-services/authorizations.ts': 'sealed by us: an order to sign in',
  'src/resources/agents/mcp-services/rows.ts': 'sealed texts',
  'src/identity/oidc.ts': 'sealed texts of an attempt',
  'src/resources/identity/signing-keys.ts': 'our own key',
  'src/resources/infra/builds/': 'a checked spec: texts, and numbers in their range',
  'src/resources/infra/code-host/rows.ts': 'sealed texts',
  'src/resources/infra/database-backups/roles.ts': 'sealed: what a server of Postgres says of its roles',
  'src/resources/infra/databases/roles.ts': 'sealed: what a server of Postgres says of its roles',
  'src/resources/infra/databases/setup.ts': 'sealed texts',
  'src/resources/infra/functions/': 'sealed: a checked spec of a build, and texts',
  'workers/infra/vms.ts': 'sealed: checked clones of repositories',
}

test('JSON that may be passed on is read with all its numbers: by parseExactly or whoever uses it', () => {
  const using = readSources(productFolders)
    .filter(({ code }) => /\bJSON\.parse\b|\.json\(\)/.test(code))
    .map(({ path }) => path)
  expect(using.filter((path) => !Object.keys(reasons).some((place) => path.startsWith(place)))).toEqual([])
  expect(Object.keys(reasons).filter((place) => !using.some((path) => path.startsWith(place)))).toEqual([])
})
