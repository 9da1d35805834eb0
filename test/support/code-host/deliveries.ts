/**
 * Deliveries of GitHub's webhooks, in the shape that its documentation gives each event. They were written for these
 * tests from that documentation, not recorded: no real repository is in them.
 */
import { createHmac, randomUUID } from 'node:crypto'

/** The secret of the tests. */
export const hookSecret = 'webhook-secret-canary-4be1'

type Json = Record<string, unknown>

/** An account that causes events. */
export const account = (login: string, type = 'User'): Json => ({
  login,
  id: 21_031_067,
  node_id: 'MDQ6VXNlcjIxMDMxMDY3',
  avatar_url: `https://avatars.githubusercontent.com/u/21031067?v=4`,
  html_url: `https://github.com/${login}`,
  type,
  site_admin: false,
})

/** A repository in a payload. */
export const repository = (fullName = 'octocat/site', id = 5_000_000_000): Json => ({
  id,
  node_id: 'MDEwOlJlcG9zaXRvcnkxODY4NTMwMDI=',
  name: fullName.split('/')[1],
  full_name: fullName,
  private: true,
  owner: account(fullName.split('/')[0] ?? ''),
  html_url: `https://github.com/${fullName}`,
  description: null,
  fork: false,
  default_branch: 'main',
})

const head = 'ec26c3e57ca3a959ca5aad62de7213c562f8c821'

/** A pull request. @param from the repository of its head. */
export function pullRequest(given: Json = {}, { from = repository(), base = 'main' } = {}): Json {
  return {
    url: 'https://api.github.com/repos/octocat/site/pulls/2',
    id: 279_147_437,
    html_url: 'https://github.com/octocat/site/pull/2',
    number: 2,
    state: 'open',
    locked: false,
    title: 'Update the README with new information.',
    user: account('octocat'),
    body: 'This is a pretty simple change that we need to pull into main.',
    created_at: '2019-05-15T15:20:33Z',
    labels: [],
    head: { label: 'octocat:changes', ref: 'changes', sha: head, user: account('octocat'), repo: from },
    base: { label: `octocat:${base}`, ref: base, sha: 'f95f852bd8fca8fcc58a9a2d6c842781e32a215e', repo: repository() },
    author_association: 'OWNER',
    draft: false,
    merged: false,
    commits: 1,
    additions: 1,
    deletions: 1,
    changed_files: 1,
    ...given,
  }
}

/** An issue. */
export function issue(given: Json = {}): Json {
  return {
    url: 'https://api.github.com/repos/octocat/site/issues/1',
    html_url: 'https://github.com/octocat/site/issues/1',
    id: 444_500_041,
    number: 1,
    title: 'Spelling error in the README file',
    user: account('octocat'),
    labels: [{ id: 1_362_934_389, name: 'bug', color: 'd73a4a', default: true }],
    state: 'open',
    comments: 0,
    author_association: 'OWNER',
    body: "It looks like you accidently spelled 'commit' with two 't's.",
    performed_via_github_app: null,
    ...given,
  }
}

const common = (sender: Json): Json => ({ repository: repository(), sender })

/** A payload of each event. */
export const payloads = {
  push: (given: Json = {}): Json => ({
    ref: 'refs/heads/main',
    before: '6113728f27ae82c7b1a177c8d03f9e96e0adf246',
    after: head,
    created: false,
    deleted: false,
    forced: false,
    compare: 'https://github.com/octocat/site/compare/6113728f27ae...ec26c3e57ca3',
    commits: [
      {
        id: head,
        message: 'Update README.md',
        timestamp: '2019-05-15T15:19:25Z',
        author: { name: 'The Octocat', email: 'octocat@github.com', username: 'octocat' },
        added: [],
        removed: [],
        modified: ['docs/README.md'],
      },
    ],
    pusher: { name: 'octocat', email: 'octocat@github.com' },
    ...common(account('octocat')),
    ...given,
  }),
  pull_request: (given: Json = {}): Json => ({
    action: 'opened',
    number: 2,
    pull_request: pullRequest(),
    ...common(account('octocat')),
    ...given,
  }),
  issues: (given: Json = {}): Json => ({
    action: 'opened',
    issue: issue(),
    ...common(account('octocat')),
    ...given,
  }),
  issue_comment: (body: string, given: Json = {}, comment: Json = {}): Json => ({
    action: 'created',
    issue: issue(),
    comment: {
      url: 'https://api.github.com/repos/octocat/site/issues/comments/492700400',
      html_url: 'https://github.com/octocat/site/issues/1#issuecomment-492700400',
      id: 492_700_400,
      user: account('octocat'),
      created_at: '2019-05-15T15:20:21Z',
      author_association: 'OWNER',
      body,
      performed_via_github_app: null,
      ...comment,
    },
    ...common(account('octocat')),
    ...given,
  }),
  release: (): Json => ({
    action: 'published',
    release: {
      html_url: 'https://github.com/octocat/site/releases/tag/v1.0.0',
      id: 17_372_790,
      tag_name: 'v1.0.0',
      target_commitish: 'main',
      name: null,
      draft: false,
      prerelease: false,
      author: account('octocat'),
      body: null,
    },
    ...common(account('octocat')),
  }),
  workflow_run: (headRepository = repository()): Json => ({
    action: 'completed',
    workflow_run: {
      id: 1_296_269,
      name: 'Tests',
      head_branch: 'main',
      head_sha: head,
      run_number: 7,
      event: 'push',
      status: 'completed',
      conclusion: 'failure',
      html_url: 'https://github.com/octocat/site/actions/runs/1296269',
      head_repository: headRepository,
    },
    ...common(account('octocat')),
  }),
}

/** The answer of the receiver. */
export type HookAnswer = { status: number; headers: Headers; body: Record<string, unknown> }

/** Sends a delivery as GitHub does: signed, each with an id of its own. */
export async function deliverHook(
  url: string,
  event: string,
  payload: Json | string | Uint8Array,
  headers: Record<string, string | undefined> = {},
  secret = hookSecret,
): Promise<HookAnswer> {
  const body = typeof payload === 'string' || payload instanceof Uint8Array ? payload : JSON.stringify(payload)
  const all = {
    'content-type': 'application/json',
    'user-agent': 'GitHub-Hookshot/044aadd',
    'x-github-event': event,
    'x-github-delivery': randomUUID(),
    'x-github-hook-id': '292430182',
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    ...headers,
  }
  const sent = Object.entries(all).filter((one): one is [string, string] => one[1] !== undefined)
  const answer = await fetch(`${url}/agents/v1/hooks/github`, {
    method: 'POST',
    body: body as NonNullable<RequestInit['body']>,
    headers: sent,
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: (text === '' ? {} : JSON.parse(text)) as Json }
}
