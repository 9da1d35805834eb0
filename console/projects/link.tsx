/** The project that something is in. */
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { plain } from '../parts/plain.ts'

/** Its name, which leads to its page. */
export function ProjectLink({ project }: { project: { id: string; name: string } | null }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  return project ? <Link to={`/o/${org}/projects/${project.id}`}>{plain(project.name)}</Link> : 'none'
}
