/** `berth status` and `berth version`. */
import type { Noun } from '../grammar.ts'
import { word } from '../output.ts'
import { lineOf } from '../text.ts'

/** What to say when the command line and the server are two minor versions apart; undefined when they fit. */
export function compareVersions(own: string, server: string): string | undefined {
  const [ownMajor = 0, ownMinor = 0] = own.split('.').map(Number)
  const [major = 0, minor = 0] = server.split('.').map(Number)
  if (ownMajor === major && Math.abs(ownMinor - minor) < 2) return undefined
  const isOlder = ownMajor < major || (ownMajor === major && ownMinor < minor)
  return `This command line is ${own}, and Berth is ${lineOf(server)}: ${isOlder ? 'get a newer command line.' : 'get an older command line, or update Berth.'}`
}

/** Where, and as whom. */
export const status: Noun = {
  alone: {
    async run(cli) {
      const { url, name } = cli.target()
      const berth = await cli.berth()
      const { version } = await berth.instance()
      const viewer = await berth.viewer()
      cli.out.object({
        address: url,
        context: name,
        version,
        person: viewer.user?.name,
        key: viewer.keyId,
        organization: viewer.organization?.name,
        organizationId: viewer.organization?.id,
        role: viewer.role ? word(viewer.role) : undefined,
      })
      const advice = compareVersions(cli.version, version)
      if (advice) cli.out.note(advice)
    },
  },
}

/** The version of the command line. */
export const version: Noun = {
  alone: {
    run: (cli) => Promise.resolve(cli.out.result({ version: cli.version }, cli.version)),
  },
}
