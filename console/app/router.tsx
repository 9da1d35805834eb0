/** The console's addresses, and the page at each; a page's code is loaded when it is opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  useLocation,
} from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { watchPages } from './focus.ts'
import { Start, Invitation } from './start.tsx'
import { ForPerson } from './person.tsx'
import { Shell } from './shell.tsx'

/** What stands after `?`: the text of a list's filter, whether it has archived ones, too, and the tab of an object. */
export type Search = { q?: string; archived?: 1; tab?: string }

const root = createRootRoute({
  component: Root,
  notFoundComponent: () => (
    <main className="alone">
      <h1>Nothing is here</h1>
      <p>The console has no such address.</p>
      <a href="/">To the start</a>
    </main>
  ),
})
const forAnybody = '/s/$id'

/** Everything but a shared session is for somebody who has signed in. */
function Root(): ReactNode {
  const isForAnybody = useLocation().pathname.startsWith(forAnybody.replace('$id', ''))
  if (isForAnybody) return <Outlet />
  return (
    <ForPerson>
      <Outlet />
    </ForPerson>
  )
}

const organization = createRoute({
  getParentRoute: () => root,
  path: '/o/$org',
  component: Shell,
  validateSearch: (given: Record<string, unknown>): Search => ({
    ...(typeof given['q'] === 'string' ? { q: given['q'] } : {}),
    ...(given['archived'] === 1 ? { archived: 1 } : {}),
    ...(typeof given['tab'] === 'string' ? { tab: given['tab'] } : {}),
  }),
})

const pages = {
  '/': lazyRouteComponent(() => import('../home/page.tsx'), 'Home'),
  vms: lazyRouteComponent(() => import('../vms/list.tsx'), 'Vms'),
  'vms/$id': lazyRouteComponent(() => import('../vms/page.tsx'), 'VmPage'),
  databases: lazyRouteComponent(() => import('../databases/list.tsx'), 'Databases'),
  'databases/$id': lazyRouteComponent(() => import('../databases/page.tsx'), 'DatabasePage'),
  builds: lazyRouteComponent(() => import('../builds/list.tsx'), 'Builds'),
  'builds/$id': lazyRouteComponent(() => import('../builds/page.tsx'), 'BuildPage'),
  templates: lazyRouteComponent(() => import('../templates/list.tsx'), 'Templates'),
  'templates/$id': lazyRouteComponent(() => import('../templates/page.tsx'), 'TemplatePage'),
  functions: lazyRouteComponent(() => import('../functions/list.tsx'), 'Functions'),
  'functions/$id': lazyRouteComponent(() => import('../functions/page.tsx'), 'FunctionPage'),
  domains: lazyRouteComponent(() => import('../domains/list.tsx'), 'Domains'),
  'domains/$id': lazyRouteComponent(() => import('../domains/page.tsx'), 'DomainPage'),
  projects: lazyRouteComponent(() => import('../projects/list.tsx'), 'Projects'),
  'projects/$id': lazyRouteComponent(() => import('../projects/page.tsx'), 'ProjectPage'),
  agents: lazyRouteComponent(() => import('../agents/list.tsx'), 'Agents'),
  'agents/$id': lazyRouteComponent(() => import('../agents/page.tsx'), 'AgentPage'),
  sessions: lazyRouteComponent(() => import('../sessions/list.tsx'), 'Sessions'),
  'sessions/$id': lazyRouteComponent(() => import('../sessions/page.tsx'), 'SessionPage'),
  environments: lazyRouteComponent(() => import('../environments/list.tsx'), 'Environments'),
  'environments/$id': lazyRouteComponent(() => import('../environments/page.tsx'), 'EnvironmentPage'),
  automation: lazyRouteComponent(() => import('../deployments/list.tsx'), 'Deployments'),
  'automation/deployments': lazyRouteComponent(() => import('../deployments/list.tsx'), 'Deployments'),
  'automation/deployments/$id': lazyRouteComponent(() => import('../deployments/page.tsx'), 'DeploymentPage'),
  'automation/schedules': lazyRouteComponent(() => import('../schedules/list.tsx'), 'Schedules'),
  'automation/schedules/$id': lazyRouteComponent(() => import('../schedules/page.tsx'), 'SchedulePage'),
  'automation/triggers': lazyRouteComponent(() => import('../triggers/list.tsx'), 'Triggers'),
  'automation/triggers/$id': lazyRouteComponent(() => import('../triggers/page.tsx'), 'TriggerPage'),
  groups: lazyRouteComponent(() => import('../groups/list.tsx'), 'Groups'),
  'groups/$id': lazyRouteComponent(() => import('../groups/page.tsx'), 'GroupPage'),
  skills: lazyRouteComponent(() => import('../skills/list.tsx'), 'Skills'),
  'skills/$id': lazyRouteComponent(() => import('../skills/page.tsx'), 'SkillPage'),
  memories: lazyRouteComponent(() => import('../memories/list.tsx'), 'Memories'),
  'memories/$id': lazyRouteComponent(() => import('../memories/page.tsx'), 'MemoryPage'),
  files: lazyRouteComponent(() => import('../files/list.tsx'), 'Files'),
  'files/folders': lazyRouteComponent(() => import('../files/folders.tsx'), 'Folders'),
  'files/$id': lazyRouteComponent(() => import('../files/page.tsx'), 'FilePage'),
  vaults: lazyRouteComponent(() => import('../vaults/list.tsx'), 'Vaults'),
  'vaults/$id': lazyRouteComponent(() => import('../vaults/page.tsx'), 'VaultPage'),
  models: lazyRouteComponent(() => import('../models/page.tsx'), 'Models'),
  webhooks: lazyRouteComponent(() => import('../webhooks/list.tsx'), 'Webhooks'),
  'webhooks/$id': lazyRouteComponent(() => import('../webhooks/page.tsx'), 'WebhookPage'),
  audit: lazyRouteComponent(() => import('../audit/list.tsx'), 'Audit'),
  settings: lazyRouteComponent(() => import('../organization/settings.tsx'), 'Settings'),
  host: lazyRouteComponent(() => import('../host/page.tsx'), 'Host'),
  usage: lazyRouteComponent(() => import('../models/usage.tsx'), 'Usage'),
  keys: lazyRouteComponent(() => import('../organization/keys.tsx'), 'Keys'),
  members: lazyRouteComponent(() => import('../organization/members.tsx'), 'Members'),
} as const

const children = Object.entries(pages).map(([path, component]) =>
  createRoute({ getParentRoute: () => organization, path, component: component as never }),
)
const routes = root.addChildren([
  createRoute({ getParentRoute: () => root, path: '/', component: Start }),
  createRoute({ getParentRoute: () => root, path: '/sign-in', component: Start }),
  createRoute({ getParentRoute: () => root, path: '/join', component: Invitation }),
  createRoute({
    getParentRoute: () => root,
    path: '/authorize',
    component: lazyRouteComponent(() => import('../programs/page.tsx'), 'Authorize'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/activate',
    component: lazyRouteComponent(() => import('../programs/page.tsx'), 'Activate'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: forAnybody,
    component: lazyRouteComponent(() => import('../sessions/shared.tsx'), 'SharedSessionPage'),
  }),
  organization.addChildren(children),
])

/** The router. */
export const router = createRouter({
  routeTree: routes,
  defaultRemountDeps: ({ params }) => params, // another object is another page: nothing of the last one stays
  defaultPreload: 'intent',
  scrollRestoration: true,
})

watchPages(router)

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
