/** The sections of files that describe what an organization has: from which inputs their fields are, and which of them differ. */

/** A piece of JSON Schema. */
export type JsonSchema = { [key: string]: unknown }

/** A section: a map from names to fields. */
export type DescribedSection = {
  about: string
  /** The input of the mutation that creates one, whose fields are those of the section. */
  input?: string
  /** Fields of the input that a file has not: the name, which is the key; what the file says otherwise; and what it cannot say. */
  without?: readonly string[]
  /** Fields that a file has in place of those, or beside them. */
  more?: Readonly<Record<string, JsonSchema>>
  /** Those that must be there, of `more`. */
  needs?: readonly string[]
}

const nameOf = (one: string, about: string): JsonSchema => ({
  type: ['string', 'null'],
  minLength: 1,
  description: `${about} The name of ${one}: of the file, or of the organization.`,
})
const project: JsonSchema = nameOf('a project', 'The project that it is in, in place of that of the file.')
const agent: JsonSchema = {
  description: 'The agent that it starts: its name, or its name and a version.',
  anyOf: [
    { type: 'string', minLength: 1 },
    {
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 1, description: 'The name of the agent.' },
        version: { type: 'integer', description: 'Its version; the newest by default.' },
      },
      required: ['name'],
      additionalProperties: false,
    },
  ],
}

/** What members of some inputs a file may have: of a kickoff, texts only, since files and images are not described. */
export const onlyMembers: Readonly<Record<string, readonly string[]>> = {
  SessionEventInput: ['userMessage', 'userDefineOutcome', 'systemMessage'],
  ContentBlockInput: ['text'],
  RubricInput: ['text'],
}

/** All sections, in the order in which what they have is made. */
export const describedSections: Readonly<Record<string, DescribedSection>> = {
  projects: { about: 'Projects, which have no fields: `shop: {}`.' },
  vms: {
    about: 'VMs.',
    input: 'CreateVmInput',
    without: ['name', 'vmId', 'wait', 'folderId', 'projectId', 'env'],
    more: {
      project,
      env: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Its environment variables, all of those that users set. They are not exported.',
      },
    },
  },
  functions: {
    about: 'Functions.',
    input: 'CreateFunctionInput',
    without: ['name', 'binaryUrl', 'revision'],
    more: {
      code: {
        type: 'string',
        minLength: 1,
        description: 'The file or the folder that is deployed, relative to the file that names it. It is not exported.',
      },
    },
  },
  databases: {
    about: 'Databases.',
    input: 'CreateDatabaseInput',
    without: ['name', 'organizationId', 'projectId', 'functionId', 'wait'],
    more: { project, function: nameOf('a function', 'The function that it is linked to.') },
  },
  domains: {
    about: 'Domains, by their names such as `shop.example.com`.',
    input: 'CreateDomainInput',
    without: ['domain', 'organizationId', 'verifyOwnership', 'vmId', 'vmPort'],
    more: {
      vm: {
        type: ['string', 'null'],
        pattern: '^.+:[0-9]{1,5}$',
        description: 'The VM and its port that it leads to, such as `web:3000`. Give this, or `function`.',
      },
      function: nameOf('a function', 'The function that it leads to.'),
    },
  },
  vaults: {
    about: 'Vaults. What is in them is neither described nor deleted.',
    input: 'CreateVaultInput',
    without: ['displayName'],
  },
  environments: {
    about: 'Environments of sessions.',
    input: 'CreateEnvironmentInput',
    without: ['name', 'scope'],
  },
  agents: { about: 'Agents.', input: 'CreateAgentInput', without: ['name'] },
  deployments: {
    about: 'Deployments of agents.',
    input: 'CreateDeploymentInput',
    without: ['name', 'agent', 'environment', 'environmentId', 'initialEvents', 'schedule', 'vaultIds'],
    more: {
      agent,
      environment: {
        description: 'Where its sessions work: the name of an environment, a fresh VM each, or nowhere.',
        anyOf: [
          { type: 'string', minLength: 1 },
          {
            type: 'object',
            properties: {
              ephemeral: { $ref: '#/$defs/EphemeralEnvironmentInput' },
              none: { const: true, description: 'Sessions have no VM.' },
            },
            minProperties: 1,
            maxProperties: 1,
            additionalProperties: false,
          },
        ],
      },
      vaults: {
        type: 'array',
        items: { type: 'string', minLength: 1 },
        description: 'The names of the vaults whose credentials its sessions may use.',
      },
    },
    needs: ['agent'],
  },
  schedules: {
    about: 'Schedules.',
    input: 'CreateScheduleInput',
    without: ['name', 'agent', 'deployment'],
    more: { agent, deployment: nameOf('a deployment', 'The deployment to run, instead of an agent.') },
  },
  triggers: {
    about: 'Triggers.',
    input: 'CreateTriggerInput',
    without: ['name', 'agent', 'deployment'],
    more: { agent, deployment: nameOf('a deployment', 'Says where its sessions work, and what they are told first.') },
    needs: ['agent'],
  },
}
