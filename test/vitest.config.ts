/**
 * How the tests run: three files at a time, the longest first; then two at a time of those that measure, four of those that
 * mostly wait, and last, two at a time, those with real VMs. `npm run test:fast` runs the project `fast` alone; a file with
 * a VM ends in `.vm.test.ts`, and the other ones that `fast` leaves out stand here. Files of `fast` share a process with
 * others, one after the other: a file leaves nothing behind, such as a moved clock or a changed environment.
 */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './support/longest-first.ts'

const vmTests = 'test/**/*.vm.test.ts'
/** What takes seven seconds or more on a calm machine, and what needs a Debian package beside git: all else is fast. */
export const slowTests = [
  'test/adding-a-noun.test.ts', // a copy of the checkout, and its types
  'test/agents/groups/browser.test.ts', // Chromium
  'test/agents/groups/deaths.test.ts', // a conversation whose worker dies, again and again
  'test/agents/groups/stream-kills.test.ts', // processes that are killed, and started again
  'test/agents/tool-servers/sessions.test.ts', // workers that are killed, and started again
  'test/agents/tool-servers/odd-answers.test.ts', // hundreds of answers, each asked for twice
  'test/agents/mcp-services/conformance.test.ts', // a client and a server for each scenario
  'test/agents/memories/tools.test.ts', // sessions, one after another
  'test/agents/turns/outcomes.test.ts', // sessions that are graded several times
  'test/agents/peers/deaths.test.ts', // agents that ask, and workers that die at each of their statements
  'test/agents/peers/exchanges.test.ts', // many sessions that ask one another
  'test/agents/peers/kills.test.ts', // workers that are killed and started again
  'test/agents/runs.test.ts', // sessions that end by themselves
  'test/agents/schedules/firing.test.ts', // one session after another
  'test/agents/schedules/kills.test.ts', // workers that are killed and started again
  'test/agents/schedules/turns.test.ts', // organizations that wait for their turn
  'test/agents/sessions/deaths.test.ts', // a session that dies at each of its statements
  'test/agents/sessions/loop.test.ts', // many sessions, with their time limits
  'test/agents/sessions/models.test.ts', // many sessions, with their time limits
  'test/agents/skills/kills.test.ts', // a process that is killed
  'test/agents/triggers/chaos.test.ts', // processes that are killed, and leases that end
  'test/agents/triggers/fires.test.ts', // sessions, one after another
  'test/agents/triggers/keeping.test.ts', // more events than are kept
  'test/architecture/tools.test.ts', // the linter and the formatter, on every file
  'test/backup.test.ts', // whole installations, backed up and restored
  'test/cli/bad-days.test.ts', // a process for each command
  'test/cli/commands.test.ts', // a process for each command
  'test/cli/first-minutes.test.ts', // a process for each command
  'test/cli/host.test.ts', // whole installations, started and ended
  'test/cli/databases.test.ts', // a process for each command
  'test/cli/login.test.ts', // Chromium, and a process for each command
  'test/cli/mcp.test.ts', // a process for each command
  'test/cli/package.test.ts', // the command line, bundled and installed
  'test/cli/refresh.test.ts', // a process for each command
  'test/cli/terminal.test.ts', // a process for each command
  'test/cli/tunnels.test.ts', // a process for each command
  'test/cli/vm.test.ts', // a process for each command, and Debian’s Python
  'test/cli/walk.test.ts', // a process for each command
  'test/client/terminals.test.ts', // Debian's Python
  'test/console/bad-days.test.ts', // Chromium, and processes that are killed
  'test/console/automation.test.ts', // Chromium
  'test/console/choosing.test.ts', // Chromium
  'test/console/infra.test.ts', // Chromium
  'test/console/live.test.ts', // Chromium
  'test/console/long.test.ts', // Chromium
  'test/console/pages.test.ts', // Chromium
  'test/console/walks.test.ts', // Chromium, and a DNS server
  'test/console/vms.test.ts', // Chromium
  'test/console/quality.test.ts', // Chromium
  'test/contract/agents-hostile.test.ts', // hundreds of attack texts in every field
  'test/contract/event-streams.test.ts', // every stream, cut and resumed
  'test/contract/names/field-names.test.ts', // every operation, with each of its fields wrong
  'test/contract/hostile.test.ts', // hundreds of attack texts in every argument
  'test/contract/openapi.test.ts', // every answer against its schema
  'test/contract/persons-own.test.ts', // every operation on what is a colleague’s
  'test/contract/vm-tokens.test.ts', // every operation as the token inside a VM
  'test/contract/tenants.test.ts', // every operation on what is another organization’s
  'test/contract/thrice.test.ts', // every request that changes something, three times
  'test/deploy/monitoring.test.ts', // the three processes, and Debian’s promtool where it is
  'test/doctor.test.ts', // a command, started a dozen times
  'test/edge/http/http2.test.ts', // floods, and bodies of 100 MiB
  'test/edge/http/small-answers.test.ts', // a module that is mocked: nobody may have loaded it before
  'test/edge/main.test.ts', // processes that start and end
  'test/edge/strangers.test.ts', // a login for each statement that a role may try on itself
  'test/edge/postgres/changes.test.ts', // five hundred clients
  'test/edge/postgres/drivers.test.ts', // a program in each language
  'test/edge/postgres/clients.test.ts', // psql, pgbench, pg_dump
  'test/edge/work-limit.test.ts', // clients that work for too long
  'test/examples/python.test.ts', // Debian’s Python, a process for each example
  'test/gateway/browsers.test.ts', // Chromium
  'test/gateway/compression.test.ts', // large answers
  'test/gateway/graphiql.test.ts', // Chromium
  'test/gateway/rolling.test.ts', // web processes that come and go under load
  'test/identity/command.test.ts', // commands, started by npm
  'test/identity/oauth/browser.test.ts', // Chromium
  'test/identity/oidc.test.ts', // Chromium
  'test/identity/key-command.test.ts', // commands, started by npm
  'test/infra/builds/logs.test.ts', // large logs
  'test/infra/certificates/issuing.test.ts', // Debian's pebble and dnsmasq
  'test/infra/certificates/of-domains.test.ts', // Debian's pebble and knot
  'test/infra/certificates/refusals.test.ts', // Debian's pebble and dnsmasq
  'test/infra/certificates/wildcards.test.ts', // Debian's pebble, dnsmasq and unbound
  'test/infra/code-host/faults.test.ts', // a code host that does not answer, with its time limits
  'test/infra/compute/disk-images.test.ts', // qemu-img
  'test/infra/compute/ssh-hostile.test.ts', // gigabytes over SSH
  'test/infra/domains.test.ts', // a DNS server
  'test/infra/domains/checks.test.ts', // a DNS server, and others that are silent
  'test/infra/domains/model.test.ts', // a DNS server
  'test/infra/domains/takeover.test.ts', // a DNS server
  'test/infra/egress.test.ts', // a real SSH connection
  'test/infra/organization-room.test.ts', // organizations that reach each of their limits
  'test/infra/terminals/programs.test.ts', // Debian's Python, and a program that is killed after 3 s
  'test/infra/terminals/tickets.test.ts', // Debian's Python, and time limits of 5 s
  'test/infra/tunnels/bytes.test.ts', // megabytes both ways
  'test/infra/tunnels/tickets.test.ts', // time limits of 5 s
  'test/infra/vm-file-streams.test.ts', // half a gigabyte in both directions, and time limits
  'test/infra/webhooks/deliveries.test.ts', // ten attempts, and an endpoint that does not answer
  'test/infra/webhooks/kill.test.ts', // processes that are killed, and started again
  'test/llm/billing/ledger-sums.test.ts', // a ledger of a year
  'test/llm/chat-streams.test.ts', // streams that break off, with their time limits
  'test/llm/chat.test.ts', // chats that take seconds
  'test/llm/models.test.ts', // providers that do not answer
  'test/llm/upstreams/habits.test.ts', // a session for each habit of a provider
  'test/mcp/clients.test.ts', // a process for each call of the inspector
  'test/start-commands.test.ts', // whole installations, started by npm
  'test/start.test.ts', // whole installations, started and killed
]
/** What measures how long a thread is held: two at a time, because a processor that is shared by more takes longer for the same. */
export const measuredTests = [
  'test/agents/skills/front-matter.test.ts', // front matter in every shape that a parser is slow to read
  'test/agents/sessions/web-tools.test.ts', // arguments whose check takes forever
  'test/architecture/patterns.test.ts', // regular expressions on what they are slow to read
  'test/contract/answers.test.ts', // the largest answers there may be
  'test/contract/stalls.test.ts', // the largest bodies there may be, in every field
  'test/contract/stalls/answers.test.ts', // the largest answers there may be, in every shape
  'test/contract/stalls/chunks.test.ts', // clients that send as fast as they can
  'test/contract/stalls/formats.test.ts', // the largest bodies there may be, in every shape
  'test/contract/stalls/graphql.test.ts', // the largest variables, in every shape
  'test/contract/stalls/memory.test.ts', // bodies in every shape, and a collection of garbage for each
  'test/contract/stalls/sockets.test.ts', // the largest messages, in every shape
  'test/contract/stalls/sql.test.ts', // the largest requests and answers, in every shape
  'test/contract/stalls/tool-servers.test.ts', // likewise, of every operation that asks tool servers
  'test/contract/stalls/wire.test.ts', // the largest messages, and as many as can be sent
  'test/edge/http/pieces.test.ts', // clients that send as fast as they can
  'test/platform/large-json.test.ts', // 32 MiB of JSON in every shape
  'test/platform/log.test.ts', // lines that take long to write
  'test/platform/masking.test.ts', // texts that take long to search
]
/** What is slow because it waits for time limits most of its time, and leaves the processors to others: more run at a time. */
export const waitingTests = [
  'test/agents/mcp-tools.test.ts', // tool servers, with their time limits
  'test/agents/sessions.test.ts', // many sessions, with their time limits
  'test/edge/postgres/hostile.test.ts', // a thousand connections, and a time limit of 15 s
  'test/gateway/connections.test.ts', // thousands of connections, and a time limit of 30 s
  'test/gateway/http.test.ts', // time limits of 8 to 12 s
  'test/gateway/streams.test.ts', // heartbeats, and thousands of subscriptions
  'test/infra/builds/without-vms.test.ts', // builds that wait for a machine
  'test/infra/databases.test.ts', // a process of the edge that does not answer for seconds
  'test/infra/databases/client-access.test.ts', // a process of the edge that does not answer for seconds
  'test/infra/databases/turns.test.ts', // work that is put back for seconds
  'test/infra/node-client.test.ts', // a node that is silent for seconds
  'test/llm/billing/inference-database.test.ts', // time limits of 10 s
  'test/llm/upstreams/faults.test.ts', // time limits of seconds, of each kind of provider
  'test/platform/jobs.test.ts', // a process that is killed, and a lease that ends
  'test/platform/metrics.test.ts', // a Postgres that is killed, and a time limit of 10 s
  'test/platform/pubsub.test.ts', // processes that are silent for seconds
]
/** One more than two processors: a test waits for its database half of the time. Guests and what is measured leave no room for it. */
const parallelFiles = 3
const parallelBusyFiles = 2
const parallelWaitingFiles = 4
const testTimeoutMs = 30_000
const hookTimeoutMs = 60_000
/** As `until` waits and looks: its own second is little where three files share two processors. */
const poll = { timeout: 20_000, interval: 50 }
const parallel = { maxWorkers: parallelFiles, sequence: { groupOrder: 1 } }

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  // graphql must be one copy: the tests' imports take the file that Node takes, not the one meant for bundlers.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    pool: 'forks', // tests kill processes and read memory: threads would share both
    globalSetup: 'test/support/global-setup.ts',
    testTimeout: testTimeoutMs,
    hookTimeout: hookTimeoutMs,
    expect: { poll },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: [vmTests, ...slowTests, ...measuredTests, ...waitingTests],
          isolate: false, // importing and warming up the server for each file took longer than most files
          ...parallel,
        },
      },
      { extends: true, test: { name: 'slow', include: slowTests, ...parallel } },
      {
        extends: true,
        test: {
          name: 'measured',
          include: measuredTests,
          maxWorkers: parallelBusyFiles,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: { name: 'waiting', include: waitingTests, maxWorkers: parallelWaitingFiles, sequence: { groupOrder: 3 } },
      },
      {
        extends: true,
        test: { name: 'vm', include: [vmTests], maxWorkers: parallelBusyFiles, sequence: { groupOrder: 4 } },
      },
    ],
  },
})
