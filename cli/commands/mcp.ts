/** `berth mcp`. */
import { once } from 'node:events'
import { organizationIdOf } from '../connect.ts'
import type { Noun } from '../grammar.ts'
import { passMessages } from '../mcp/bridge.ts'
import { idOf } from '../names.ts'

/** Berth's tool server for programs that start it. */
export const mcp: Noun = {
  alone: {
    options: [
      ['--read-only', 'only tools that change nothing'],
      ['--project <project>', 'only tools that keep to this project'],
      ['--features <names>', 'only tools of these groups: vms,databases'],
    ],
    async run(cli, _args, options) {
      const target = cli.target()
      const organization = await organizationIdOf(target)
      const project = options.text('project')
      const features = options.text('features')
      const url = new URL(`${new URL(target.url).pathname.replace(/\/$/, '')}/mcp`, target.url)
      if (options.flag('read-only')) url.searchParams.set('read_only', '1')
      if (features !== undefined) url.searchParams.set('features', features)
      if (project !== undefined) {
        const { projects } = await cli.berth()
        const id = await idOf({ one: 'project', list: projects.list, nameOf: ({ name }) => name }, project)
        url.searchParams.set('project', id)
      }
      const { stdout } = process
      const bridge = {
        url,
        token: target.token,
        organization,
        note: (text: string) => cli.out.note(text),
        async write(line: string) {
          if (!stdout.write(`${line}\n`)) await once(stdout, 'drain')
        },
      }
      await passMessages(bridge, process.stdin)
    },
  },
}
