/** Terminals in VMs, in GraphQL. What is typed and printed passes on the web socket /terminal (docs/terminals.md). */
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import {
  closeTerminal,
  createTerminalTicket,
  findTerminals,
  openTerminal,
  pageTerminalsOfEach,
  type OpenedTerminal,
} from '#src/resources/infra/terminals.ts'
import type { TerminalStatus } from '#src/resources/infra/terminals/records.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { actionOn, idField } from '../mutations.ts'
import { linkTo, nodeOf, times, timesIfAny } from '../nodes.ts'
import { connectionOf, pageArguments } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { callIn } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { vmType } from './vms.ts'

const { runningPerVm, runningPerOrganization, columnsMax, rowsMax, commandLength, recordHours, ticketSeconds } =
  terminalLimits

const terminalStatus = enumOf('TerminalStatus', 'The status of a terminal.', {
  running: 'Its program is running, as far as is known.',
  exited: 'Its program exited.',
  closed: `It was closed, its VM stopped, or nobody was attached for ${terminalLimits.lostClientSeconds / 60} minutes.`,
} satisfies Record<TerminalStatus, string>)

/** A terminal. */
const terminalType = nodeOf('Terminal', findTerminals)

builder.objectType(terminalType, {
  description: `A program on a pty of a VM, to which one client at a time attaches at the web socket /terminal. Its record is kept ${recordHours} hours after its end.`,
  fields: (t) => ({
    ...linkTo(t, 'vm', { type: vmType, description: 'Its VM.', id: ({ vmId }) => vmId }),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who opened it; null for an API key.',
      id: ({ userId }) => userId,
    }),
    command: t.exposeString('command', {
      nullable: true,
      description: `The command line, its first ${commandLength} characters; null for a login shell.`,
    }),
    columns: t.exposeInt('columns', { description: 'The width of the last client’s screen in characters.' }),
    rows: t.exposeInt('rows', { description: 'The height of the last client’s screen in lines.' }),
    status: t.field({ type: terminalStatus, description: 'Its current status.', resolve: ({ status }) => status }),
    exitCode: t.exposeInt('exitCode', {
      nullable: true,
      description: 'The exit code of its program, once it has exited; 128 plus the signal’s number for a signal.',
    }),
    ...times(t, 'createdAt'),
    ...timesIfAny(t, { finishedAt: 'When it ended.' }),
  }),
})

const ticketText = {
  description: `Attaches one client at the web socket /terminal, once and within ${ticketSeconds} seconds. It is shown only this once.`,
  resolve: ({ ticket }: OpenedTerminal) => ticket,
}
const ticketEnd = {
  type: 'DateTime',
  description: 'Until when the ticket holds.',
  resolve: ({ ticketExpiresAt }: OpenedTerminal) => ticketExpiresAt,
} as const

builder.relayMutationField(
  'openTerminal',
  {
    description: 'What `openTerminal` takes.',
    inputFields: (t) => ({
      vmId: t.id({ required: true, description: 'The VM.' }),
      columns: t.int({ required: true, description: `The width of the screen in characters: 1 to ${columnsMax}.` }),
      rows: t.int({ required: true, description: `The height of the screen in lines: 1 to ${rowsMax}.` }),
      command: t.string({ description: 'A command line for `/bin/bash -lc`; a login shell by default.' }),
    }),
  },
  {
    description: `Opens a terminal in a running VM; one that sleeps is woken. A VM has at most ${runningPerVm} open ones, an organization ${runningPerOrganization}. Errors: INVALID_REQUEST, NOT_FOUND, VM_UNREACHABLE, RATE_LIMITED.`,
    resolve: (_, { input }, call) => openTerminal(call, input),
  },
  {
    description: 'What `openTerminal` answers.',
    outputFields: (t) => ({
      terminal: t.field({ type: terminalType, description: 'The terminal.', resolve: ({ terminal }) => terminal }),
      ticket: t.string(ticketText),
      ticketExpiresAt: t.field(ticketEnd),
    }),
  },
)
builder.relayMutationField(
  'createTerminalTicket',
  { description: 'What `createTerminalTicket` takes.', inputFields: idField },
  {
    description:
      'Makes another ticket for an open terminal, to attach to it again: its program runs on meanwhile. Errors: NOT_FOUND, INVALID_REQUEST when its VM is not running, INVALID_TRANSITION when it has ended, RATE_LIMITED.',
    resolve: (_, { input }, call) => createTerminalTicket(call, input.id),
  },
  {
    description: 'What `createTerminalTicket` answers.',
    outputFields: (t) => ({
      terminal: t.field({ type: terminalType, description: 'The terminal.', resolve: ({ terminal }) => terminal }),
      ticket: t.string(ticketText),
      ticketExpiresAt: t.field(ticketEnd),
    }),
  },
)
actionOn(
  'closeTerminal',
  { field: 'terminal', type: terminalType },
  'Ends a terminal: its program gets SIGHUP, and three seconds later SIGKILL. One that has ended stays as it is. Errors: NOT_FOUND, VM_UNREACHABLE, TIMEOUT.',
  closeTerminal,
)

const terminalFilter = builder.inputType('TerminalFilter', {
  description: 'Narrows a list of terminals.',
  fields: (t) => ({
    statuses: t.field({ type: [terminalStatus], description: 'Only those with one of these statuses.' }),
  }),
})
const terminalConnection = connectionOf('Terminal', terminalType)

type TerminalsGiven = Parameters<typeof pageTerminalsOfEach>[2] & {
  organizationId: string
  filter?: Parameters<typeof pageTerminalsOfEach>[3]
}
const terminalsOf = pagesOfEach((call, vmIds, { organizationId, filter, ...window }: TerminalsGiven) =>
  pageTerminalsOfEach(callIn(call, { id: organizationId }), vmIds, window, filter),
)

builder.objectField(vmType, 'terminals', (t) =>
  t.field({
    type: terminalConnection,
    nullable: true,
    description: `Its terminals, also those that ended in the last ${recordHours} hours, newest first. Requires the member role.`,
    args: {
      ...pageArguments,
      filter: t.arg({ type: terminalFilter, description: 'Narrows the list.' }),
    },
    resolve: ({ id, organizationId }, given, call) => terminalsOf(call, id, { ...given, organizationId }),
  }),
)
