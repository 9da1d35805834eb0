/** What a machine of an agent is like: its fields in a form, what they give, and how it reads. */
import { useState, type ReactNode } from 'react'
import type { EnvironmentConfigInput, MachineConfig } from '../generated/documents.ts'
import { sizeOf } from '../parts/age.tsx'
import { Check, Choice, Field, TextArea } from '../parts/field.tsx'
import type { Given } from '../parts/given.ts'
import { Facts } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'

const managers = ['apt', 'pip', 'npm', 'cargo', 'gem', 'go'] as const

/** @param config what it is now; without it, a machine of the usual kind. */
export function MachineFields({ config }: { config?: MachineConfig | undefined }): ReactNode {
  return (
    <>
      <div className="row">
        <Field
          name="memory"
          label="Memory, MB"
          type="number"
          min={256}
          placeholder="The usual size"
          defaultValue={config?.memoryMb}
          required={config !== undefined}
        />
        <Field
          name="vcpus"
          label="Processors"
          type="number"
          min={1}
          placeholder="2"
          defaultValue={config?.vcpuCount}
          required={config !== undefined}
        />
      </div>
      <Reach config={config} />
      <TextArea
        name="script"
        label="Script that sets it up"
        hint="Run once, when its machine is made."
        defaultValue={config?.setupScript ?? ''}
      />
      <details className="more">
        <summary>Packages, repositories, template</summary>
        {managers.map((manager) => (
          <TextArea
            key={manager}
            name={manager}
            label={`Packages of ${manager}`}
            placeholder="One a line"
            rows={2}
            defaultValue={config?.packages[manager].join('\n') ?? ''}
          />
        ))}
        <TextArea
          name="repositories"
          label="Repositories to clone"
          placeholder="https://github.com/owner/name main /home/user/name"
          hint="One a line: its address, then its branch and its folder if you like. A dash is the usual branch."
          defaultValue={
            config?.gitRepos.map(({ url, branch, path }) => `${url} ${branch ?? '-'} ${path}`).join('\n') ?? ''
          }
        />
        <Field name="template" label="Template" placeholder="base" defaultValue={config?.templateId ?? ''} />
        <Field
          name="idle"
          label="Stopped when nobody has used it for, seconds"
          type="number"
          min={10}
          placeholder="900"
          defaultValue={config?.idleTimeoutSeconds}
          required={config !== undefined}
        />
      </details>
    </>
  )
}

/** What it may connect to. */
function Reach({ config }: { config: MachineConfig | undefined }): ReactNode {
  const limited = config && 'allowedHosts' in config.networking ? config.networking : undefined
  const [reach, setReach] = useState(limited ? 'limited' : 'all')
  return (
    <>
      <Choice
        name="reach"
        label="It may connect to"
        value={reach}
        options={[
          ['all', 'Every public address'],
          ['limited', 'Only what is named'],
        ]}
        onChange={({ target }) => setReach(target.value)}
      />
      {reach === 'limited' && (
        <>
          <TextArea
            name="hosts"
            label="Hosts"
            placeholder="api.example.com"
            hint="One a line."
            defaultValue={limited?.allowedHosts.join('\n') ?? ''}
          />
          <Check
            name="packages"
            label="Package managers’ hosts, too"
            defaultChecked={limited?.allowPackageManagers ?? true}
          />
          <Check
            name="servers"
            label="The agent’s tool servers, too"
            defaultChecked={limited?.allowMcpServers ?? true}
          />
        </>
      )}
    </>
  )
}

/** What the fields give. @param isChange what is empty is then taken away, and not merely left out. */
export function machineIn({ text, number, lines, has }: Given, isChange = false): EnvironmentConfigInput {
  const used = managers.filter((manager) => isChange || lines(manager).length > 0)
  const repositories = lines('repositories')
  return {
    memoryMb: number('memory'),
    vcpuCount: number('vcpus'),
    idleTimeoutSeconds: number('idle'),
    templateId: text('template'),
    setupScript: text('script') ?? (isChange ? null : undefined),
    ...(used.length > 0
      ? { packages: Object.fromEntries(used.map((manager) => [manager, lines(manager)] as const)) }
      : {}),
    ...(isChange || repositories.length > 0 ? { gitRepos: repositories.map(repositoryOf) } : {}),
    ...(text('reach') === 'limited'
      ? {
          networking: {
            limited: {
              allowedHosts: lines('hosts'),
              allowPackageManagers: has('packages'),
              allowMcpServers: has('servers'),
            },
          },
        }
      : isChange
        ? { networking: { unrestricted: true } }
        : {}),
  }
}

function repositoryOf(line: string): { url: string; branch?: string; path?: string } {
  const [, url = '', branch, path] = /^(\S+)(?:\s+(\S+)(?:\s+(.+))?)?$/.exec(line) ?? []
  return { url, ...(branch && branch !== '-' ? { branch } : {}), ...(path ? { path } : {}) }
}

/** How it reads. */
export function Machine({ config }: { config: MachineConfig }): ReactNode {
  const { networking, packages, gitRepos, setupScript } = config
  const installed = managers.flatMap((manager) => packages[manager].map((one) => `${manager}: ${one}`))
  return (
    <>
      <Facts
        facts={[
          ['Size', `${config.vcpuCount} vCPU, ${sizeOf(config.memoryMb)}`],
          ['Stopped', `after ${config.idleTimeoutSeconds} s without use`],
          ['Template', plain(config.templateId ?? 'base')],
          [
            'It may connect to',
            plain('allowedHosts' in networking ? networking.allowedHosts.join(', ') : 'every public address'),
          ],
          ['Packages', installed.length > 0 ? plain(installed.join(', ')) : 'none beside its template’s'],
          ['Repositories', gitRepos.length > 0 ? plain(gitRepos.map(({ url }) => url).join(', ')) : 'none'],
        ]}
      />
      {setupScript && (
        <>
          <h2>Script that sets it up</h2>
          <pre tabIndex={0}>{plain(setupScript)}</pre>
        </>
      )}
    </>
  )
}
