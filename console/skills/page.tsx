/** One skill: its versions, and what is in each. */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { UploadDialog } from '../files/upload.tsx'
import {
  CreateSkillVersionDocument,
  DeleteSkillDocument,
  DeleteSkillVersionDocument,
  SkillDocument,
  type Skill,
  type SkillVersionRow,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Age, bytesOf } from '../parts/age.tsx'
import { Copy } from '../parts/copy.tsx'
import { ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { Table } from '../parts/table.tsx'

type Known = NonNullable<Skill['skill']>

/** The page. */
export function SkillPage(): ReactNode {
  return (
    <ReadObject document={SkillDocument} read={({ skill }) => skill} what="skill">
      {(skill) => <Shown skill={skill} />}
    </ReadObject>
  )
}

function Shown({ skill }: { skill: Known }): ReactNode {
  const { id } = skill
  return (
    <ObjectPage
      folder="skills"
      kind="Skills"
      name={skill.displayName}
      id={id}
      actions={<Actions skill={skill} />}
      tabs={[['versions', 'Versions', () => <Versions skill={skill} />]]}
    />
  )
}

function Actions({ skill: { id, displayName } }: { skill: Known }): ReactNode {
  const navigate = useNavigate()
  const [isMaking, setIsMaking] = useState(false)
  const close = (): void => setIsMaking(false)
  return (
    <span className="buttons">
      <Act
        mutation={DeleteSkillDocument}
        variables={{ input: { id } }}
        ask={{ question: `Delete ${plain(displayName)}?`, text: 'All of its versions go with it.' }}
        onDone={() => void navigate({ to: '..' })}
      >
        Delete
      </Act>
      <Open onClick={() => setIsMaking(true)}>New version</Open>
      {isMaking && (
        <UploadDialog
          title="New version"
          label="Its folder, as a zip"
          accept=".zip"
          mutation={CreateSkillVersionDocument}
          input={(binaryUrl) => ({ skillId: id, binaryUrl })}
          onDone={close}
          onClose={close}
        />
      )}
    </span>
  )
}

function Versions({ skill }: { skill: Known }): ReactNode {
  const [shown, setShown] = useState<string>()
  const versions = skill.versions?.nodes ?? []
  const version = versions.find(({ id }) => id === (shown ?? skill.latestVersionId))
  return (
    <>
      <Table label="Versions" heads={['Version', 'Made', 'Size', 'Now']}>
        {versions.map(({ id, createdAt, unpackedBytes }) => (
          <tr key={id}>
            <td>
              <code>{id}</code> {id === skill.latestVersionId && <span className="soft">newest</span>}
            </td>
            <td>
              <Age at={createdAt} />
            </td>
            <td>{bytesOf(unpackedBytes)}</td>
            <td>
              <span className="buttons">
                <button type="button" onClick={() => setShown(id)}>
                  Show
                </button>
                {versions.length > 1 && (
                  <Act
                    mutation={DeleteSkillVersionDocument}
                    variables={{ input: { id, skillId: skill.id } }}
                    ask={{ question: `Delete ${id}?`, text: 'Sessions that began with it keep what they have.' }}
                  >
                    Delete
                  </Act>
                )}
              </span>
            </td>
          </tr>
        ))}
      </Table>
      {version && <Contents version={version} />}
    </>
  )
}

function Contents({ version: { id, skillId, description, files } }: { version: SkillVersionRow }): ReactNode {
  return (
    <section aria-label={`Version ${id}`}>
      <h2>What for</h2>
      <p>{plain(description)}</p>
      <Table label="Files" heads={['File', 'Size']}>
        {files.map(({ path, sizeBytes }) => (
          <tr key={path}>
            <td>
              <code>{plain(path)}</code>
            </td>
            <td>{bytesOf(sizeBytes)}</td>
          </tr>
        ))}
      </Table>
      <p className="soft">
        As a zip:{' '}
        <Copy
          text={`curl -s ${location.origin}/agents/v1/skills/${skillId}/versions/${id}/content -H "authorization: Bearer $BERTH_TOKEN" -OJ`}
          label="command"
        />
      </p>
    </section>
  )
}
