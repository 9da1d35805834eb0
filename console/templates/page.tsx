/** One template: what it is, where it comes from, and which VMs started from it. */
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { DeleteTemplateDocument, TemplateDocument, type Template } from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age, bytesOf } from '../parts/age.tsx'
import { Facts, ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { ShortList } from '../parts/short-list.tsx'

type Known = Extract<NonNullable<Template['node']>, { __typename: 'Template' }>
type Answer = { template: Known; vms: Template['vms'] }

/** The page. */
export function TemplatePage(): ReactNode {
  return (
    <ReadObject
      document={TemplateDocument}
      read={({ node, vms }) => (node?.__typename === 'Template' ? { template: node, vms } : undefined)}
      what="template"
    >
      {(answer) => <Shown answer={answer} />}
    </ReadObject>
  )
}

function Shown({ answer: { template, vms } }: { answer: Answer }): ReactNode {
  const { id, name, organization, replacedAt } = template
  const navigate = useNavigate()
  return (
    <ObjectPage
      folder="templates"
      kind="Templates"
      name={name}
      id={id}
      state={replacedAt && <span className="state off">deleted</span>}
      actions={
        organization &&
        !replacedAt && (
          <Act
            mutation={DeleteTemplateDocument}
            variables={{ input: { id } }}
            ask={{
              question: `Delete ${plain(name)}?`,
              text: 'No VM can start from it any more. VMs that did go on as they are. This cannot be undone.',
              submit: 'Delete the template',
            }}
            onDone={() => void navigate({ to: '..' })}
          >
            Delete
          </Act>
        )
      }
      tabs={[
        ['overview', 'Overview', () => <Overview template={template} />],
        [
          'vms',
          `VMs (${vms?.totalCount ?? 0})`,
          () => (
            <ShortList
              label="VMs"
              folder="vms"
              of={vms}
              statusOf={({ vmStatus }) => vmStatus}
              none="No VM of the organization starts from it."
            />
          ),
        ],
      ]}
    />
  )
}

function Overview({ template }: { template: Known }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const { content, isReady, diskBytes, buildId, organization, machine, createdAt, replacedAt } = template
  return (
    <>
      <p>{plain(content)}</p>
      <Facts
        facts={[
          ['Whose', organization ? 'the organization’s' : 'comes with Berth'],
          ['Ready', isReady ? 'yes' : 'it is built when its first VM is made, which takes minutes'],
          ['Disk', diskBytes === null || diskBytes === undefined ? undefined : bytesOf(diskBytes)],
          [
            'Made by',
            buildId && (
              <Link key="build" to={`/o/${org}/builds/${buildId}`}>
                a build
              </Link>
            ),
          ],
          ['Stored on', machine && plain(machine.name)],
          ['Made', <Age key="made" at={createdAt} />],
          ['Deleted, or replaced by a newer one', replacedAt && <Age key="replaced" at={replacedAt} />],
        ]}
      />
    </>
  )
}
