/** Every noun, and from where its commands are loaded when they are needed. */
import type { HostCommand } from './commands/host.ts'
import type { Noun } from './grammar.ts'

/** A noun: what it is about, and its commands. What belongs to the host has options of its own only. */
export type NounRow = { about: string; isOfHost?: true; load(): Promise<Noun> }

/** A program of the host of a Berth. */
function ofHost(name: HostCommand, about: string): NounRow {
  return { about, isOfHost: true, load: async () => (await import('./commands/host.ts')).hostNoun(name) }
}

/** All of them, in the order of the help. */
export const nouns: Readonly<Record<string, NounRow>> = {
  login: { about: 'sign in to a Berth', load: async () => (await import('./login.ts')).login },
  logout: { about: 'sign out, and forget a context', load: async () => (await import('./login.ts')).logout },
  status: {
    about: 'show where you are signed in, and as whom',
    load: async () => (await import('./commands/status.ts')).status,
  },
  vm: { about: 'virtual machines', load: async () => (await import('./commands/vm.ts')).vm },
  env: {
    about: 'environment variables of VMs and functions',
    load: async () => (await import('./commands/env.ts')).env,
  },
  run: { about: 'run a program in a sandbox', load: async () => (await import('./commands/run.ts')).run },
  db: { about: 'Postgres databases', load: async () => (await import('./commands/db.ts')).db },
  build: { about: 'builds of repositories', load: async () => (await import('./commands/build.ts')).build },
  fn: { about: 'functions', load: async () => (await import('./commands/fn.ts')).fn },
  domain: { about: 'domains', load: async () => (await import('./commands/domain.ts')).domain },
  agent: { about: 'agents', load: async () => (await import('./commands/agent.ts')).agent },
  session: { about: 'sessions of agents', load: async () => (await import('./commands/session.ts')).session },
  schedule: { about: 'schedules', load: async () => (await import('./commands/automation.ts')).schedule },
  trigger: { about: 'triggers', load: async () => (await import('./commands/automation.ts')).trigger },
  deployment: {
    about: 'deployments of agents',
    load: async () => (await import('./commands/automation.ts')).deployment,
  },
  environment: {
    about: 'environments of sessions',
    load: async () => (await import('./commands/automation.ts')).environment,
  },
  vault: { about: 'vaults of credentials', load: async () => (await import('./commands/vault.ts')).vault },
  project: { about: 'projects', load: async () => (await import('./commands/organization.ts')).project },
  key: { about: 'API keys', load: async () => (await import('./commands/organization.ts')).key },
  member: {
    about: 'members of the organization',
    load: async () => (await import('./commands/organization.ts')).member,
  },
  org: { about: 'organizations', load: async () => (await import('./commands/organization.ts')).org },
  usage: { about: 'what was used, and what it cost', load: async () => (await import('./commands/usage.ts')).usage },
  apply: { about: 'make Berth have what a file says', load: async () => (await import('./commands/apply.ts')).apply },
  export: {
    about: 'print what Berth has as a file for apply',
    load: async () => (await import('./commands/export.ts')).exporting,
  },
  api: { about: 'any GraphQL operation', load: async () => (await import('./commands/api.ts')).api },
  mcp: {
    about: 'the tool server (MCP) on stdin and stdout, for programs that start it',
    load: async () => (await import('./commands/mcp.ts')).mcp,
  },
  open: {
    about: "print the console's address, and open it",
    load: async () => (await import('./commands/open.ts')).open,
  },
  completion: {
    about: 'completion for bash, zsh and fish',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
  up: ofHost('up', 'start a Berth on this host, as npm start does in its checkout'),
  down: ofHost('down', 'end the Berth of this host, and wait for it; its VMs keep running'),
  doctor: ofHost('doctor', 'what works on this host and what does not, each with a remedy'),
  backup: ofHost('backup', 'the whole Berth of this host in one file'),
  restore: ofHost('restore', 'bring back what backup wrote, on an empty host'),
  token: ofHost('token', 'make a token at the Berth of this host'),
  version: { about: 'print the version', load: async () => (await import('./commands/status.ts')).version },
}
