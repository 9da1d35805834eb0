/** One VM: what it is, what runs in it, its files, and what happened to it. */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import {
  DeleteVmDocument,
  PauseVmDocument,
  ResumeVmDocument,
  StartVmDocument,
  StopVmDocument,
  VmDocument,
  type Vm,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Age, sizeOf } from '../parts/age.tsx'
import { Facts, ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { ProjectLink } from '../projects/link.tsx'
import { State, wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Terminals } from '../terminals/tab.tsx'
import { Commands } from './commands.tsx'
import { Files } from './files.tsx'
import { KernelLog } from './kernel-log.tsx'
import { Ports } from './ports.tsx'
import { Processes } from './processes.tsx'
import { ResizeVm } from './resize.tsx'
import { Usage } from './usage.tsx'

type Machine = NonNullable<Vm['vm']>

/** The page. */
export function VmPage(): ReactNode {
  return (
    <ReadObject document={VmDocument} read={({ vm }) => vm} what="VM">
      {(vm) => <Shown vm={vm} />}
    </ReadObject>
  )
}

function Shown({ vm }: { vm: Machine }): ReactNode {
  const isUp = vm.vmStatus === 'RUNNING'
  return (
    <ObjectPage
      folder="vms"
      kind="VMs"
      name={vm.name}
      id={vm.id}
      state={<State status={vm.vmStatus} isAsleep={vm.isAsleep} />}
      actions={<Actions vm={vm} />}
      tabs={[
        ['overview', 'Overview', () => <Overview vm={vm} />],
        ['commands', 'Commands', () => <Commands vm={vm} />],
        ['terminal', 'Terminal', () => <Terminals key={vm.id} vmId={vm.id} />],
        ['processes', 'Processes', () => <Processes id={vm.id} />],
        ['files', 'Files', () => <Files key={vm.id} id={vm.id} isUp={isUp} diskMb={vm.diskMb} />],
        ['usage', 'Usage', () => <Usage key={vm.id} id={vm.id} isUp={isUp} />],
        ['ports', 'Ports', () => <Ports key={vm.id} id={vm.id} isUp={isUp} />],
        ['kernel', 'Kernel log', () => <KernelLog key={vm.id} id={vm.id} isUp={isUp} />],
        ['events', 'Events', () => <Events vm={vm} />],
      ]}
    />
  )
}

function Actions({ vm: { id, name, vmStatus } }: { vm: Machine }): ReactNode {
  const navigate = useNavigate()
  const variables = { input: { id } }
  return (
    <span className="buttons">
      {vmStatus === 'RUNNING' && (
        <>
          <Act mutation={PauseVmDocument} variables={variables}>
            Pause
          </Act>
          <Act mutation={StopVmDocument} variables={variables}>
            Stop
          </Act>
        </>
      )}
      {vmStatus === 'PAUSED' && (
        <Act mutation={ResumeVmDocument} variables={variables} isPrimary>
          Resume
        </Act>
      )}
      {(vmStatus === 'STOPPED' || vmStatus === 'ERROR') && (
        <Act mutation={StartVmDocument} variables={variables} isPrimary>
          Start
        </Act>
      )}
      <Act
        mutation={DeleteVmDocument}
        variables={variables}
        ask={{
          question: `Delete ${plain(name)}?`,
          text: 'Its disk and memory are deleted with it. This cannot be undone.',
          submit: 'Delete the VM',
        }}
        onDone={() => void navigate({ to: '..' })}
      >
        Delete
      </Act>
    </span>
  )
}

function Overview({ vm }: { vm: Machine }): ReactNode {
  return (
    <>
      {vm.startup && (
        <p className="note" role="status">
          {wordOf(vm.startup.step)}, since <Age at={vm.startup.since} />
          {vm.startup.attempt > 1 && `: attempt ${vm.startup.attempt} of ${vm.startup.attemptsMax}`}
        </p>
      )}
      {vm.statusReason && <p className="note">{plain(vm.statusReason)}</p>}
      {vm.warnings.map((warning) => (
        <p key={warning} className="note">
          {plain(warning)}
        </p>
      ))}
      <Facts
        facts={[
          ['Size', <Size key="size" vm={vm} />],
          ['Template', vm.template && plain(vm.template.name)],
          ['Project', <ProjectLink key="project" project={vm.project} />],
          ['Sleeps', vm.idleSeconds ? `${wordOf(vm.idleAction)} after ${vm.idleSeconds} s without use` : 'never'],
          ['Network', wordOf(vm.networkPolicy.type)],
          [
            'Runs on',
            vm.machine && `${vm.machine.name}${vm.machine.acceleration === 'EMULATION' ? ', in emulation' : ''}`,
          ],
          ['Made', <Age key="made" at={vm.createdAt} />],
          ['Started', <Age key="started" at={vm.startedAt} />],
          ['Ends', vm.expiresAt ? <Age key="ends" at={vm.expiresAt} /> : 'when it is deleted'],
        ]}
      />
      {vm.proxies && vm.proxies.nodes.length > 0 && (
        <>
          <h2>Reached at</h2>
          <ul>
            {vm.proxies.nodes.map(({ id, externalUrl, vmPort }) => (
              <li key={id}>
                <a href={externalUrl} rel="noreferrer noopener" target="_blank">
                  {externalUrl}
                </a>{' '}
                <small>port {vmPort}</small>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

/** Its size, which changes only while it is stopped. */
function Size({ vm }: { vm: Machine }): ReactNode {
  const [isChanging, setIsChanging] = useState(false)
  const rests = vm.vmStatus === 'STOPPED' || vm.vmStatus === 'ERROR'
  return (
    <>
      {`${vm.vcpuCount} vCPU, ${sizeOf(vm.memoryMb)} memory, ${sizeOf(vm.diskMb)} disk`}{' '}
      {rests ? (
        <Open isPrimary={false} onClick={() => setIsChanging(true)}>
          Change the size
        </Open>
      ) : (
        <small>Stop it to change this.</small>
      )}
      {isChanging && <ResizeVm vm={vm} onClose={() => setIsChanging(false)} />}
    </>
  )
}

function Events({ vm }: { vm: Machine }): ReactNode {
  return (
    <Table label="Events" heads={['When', 'Status', 'Why']}>
      {[...vm.events.nodes].reverse().map(({ cursor, at, status, statusReason }) => (
        <tr key={cursor} id={cursor}>
          <td>
            <Age at={at} />
          </td>
          <td>
            <State status={status} />
          </td>
          <td>{statusReason && plain(statusReason)}</td>
        </tr>
      ))}
    </Table>
  )
}
