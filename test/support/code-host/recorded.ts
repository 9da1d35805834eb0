/** Answers of GitHub's REST API as it documents them; names and ids are put in. */

/** GitHub's account of a person. */
export function userShape(id: number, login: string): Record<string, unknown> {
  return {
    login,
    id,
    node_id: 'MDQ6VXNlcjE=',
    avatar_url: 'https://github.com/images/error/octocat_happy.gif',
    gravatar_id: '',
    url: `https://api.github.com/users/${login}`,
    html_url: `https://github.com/${login}`,
    type: 'User',
    user_view_type: 'public',
    site_admin: false,
    name: 'monalisa octocat',
    company: 'GitHub',
    blog: 'https://github.com/blog',
    location: 'San Francisco',
    email: 'octocat@github.com',
    hireable: false,
    bio: null,
    twitter_username: null,
    public_repos: 2,
    public_gists: 1,
    followers: 20,
    following: 0,
    created_at: '2008-01-14T04:33:35Z',
    updated_at: '2008-01-14T04:33:35Z',
    private_gists: 81,
    total_private_repos: 100,
    owned_private_repos: 100,
    disk_usage: 10_000,
    collaborators: 8,
    two_factor_authentication: true,
    plan: { name: 'Medium', space: 400, private_repos: 20, collaborators: 0 },
  }
}

/** A repository. */
export function repositoryShape(
  at: string,
  { id, owner, name, isPrivate = true }: { id: number; owner: string; name: string; isPrivate?: boolean },
): Record<string, unknown> {
  return {
    id,
    node_id: 'MDEwOlJlcG9zaXRvcnkxMjk2MjY5',
    name,
    full_name: `${owner}/${name}`,
    owner: { login: owner, id: 1, type: 'User', site_admin: false },
    private: isPrivate,
    html_url: `${at}/${owner}/${name}`,
    description: null,
    fork: false,
    url: `${at}/api/v3/repos/${owner}/${name}`,
    clone_url: `${at}/${owner}/${name}.git`,
    ssh_url: `git@github.com:${owner}/${name}.git`,
    homepage: null,
    language: null,
    forks_count: 9,
    stargazers_count: 80,
    size: 108,
    default_branch: 'main',
    open_issues_count: 0,
    topics: ['octocat', 'atom', 'electron', 'api'],
    has_issues: true,
    archived: false,
    disabled: false,
    visibility: isPrivate ? 'private' : 'public',
    pushed_at: '2011-01-26T19:06:43Z',
    created_at: '2011-01-26T19:01:12Z',
    updated_at: '2011-01-26T19:14:43Z',
    permissions: { admin: true, maintain: true, push: true, triage: true, pull: true },
    license: { key: 'mit', name: 'MIT License', spdx_id: 'MIT', url: 'https://api.github.com/licenses/mit' },
  }
}

/** A webhook of a repository. Its secret is never shown again. */
export function hookShape(
  at: string,
  owner: string,
  { id, repository, config, ...rest }: { id: number; repository: string; config: Record<string, string> },
): Record<string, unknown> {
  const url = `${at}/api/v3/repos/${owner}/${repository}/hooks/${id}`
  return {
    type: 'Repository',
    id,
    ...rest,
    name: 'web',
    config: { ...config, secret: '********' },
    updated_at: '2019-06-03T00:57:16Z',
    created_at: '2019-06-03T00:57:16Z',
    url,
    test_url: `${url}/test`,
    ping_url: `${url}/pings`,
    deliveries_url: `${url}/deliveries`,
    last_response: { code: null, status: 'unused', message: null },
  }
}

/** The refusal of a second webhook with the same address. */
export const hookExists = {
  message: 'Validation Failed',
  errors: [{ resource: 'Hook', code: 'custom', message: 'Hook already exists on this repository' }],
  documentation_url: 'https://docs.github.com/rest/repos/webhooks#create-a-repository-webhook',
  status: '422',
}

/** The event of a push, as the code host sends it: what Berth reads, and some of what it does not. */
export function pushShape(
  at: string,
  push: {
    repositoryId: number
    owner: string
    name: string
    ref: string
    before: string
    after: string
    pushedAt: number
  },
): Record<string, unknown> {
  const { repositoryId: id, owner, name, ref, before, after, pushedAt } = push
  const deleted = /^0+$/.test(after)
  return {
    ref,
    before,
    after,
    repository: { ...repositoryShape(at, { id, owner, name }), created_at: 1_296_068_472, pushed_at: pushedAt },
    pusher: { name: owner, email: 'octocat@github.com' },
    sender: { login: owner, id: 1, type: 'User', site_admin: false },
    created: /^0+$/.test(before),
    deleted,
    forced: false,
    base_ref: null,
    compare: `${at}/${owner}/${name}/compare/${before.slice(0, 12)}...${after.slice(0, 12)}`,
    commits: deleted
      ? []
      : [
          {
            id: after,
            tree_id: before,
            distinct: true,
            message: 'Change: \u0000 no, but “this”',
            added: [],
            removed: [],
            modified: ['app.py'],
          },
        ],
    head_commit: deleted ? null : { id: after, message: 'Change', timestamp: '2011-01-26T19:06:43Z' },
  }
}

/** A branch in a list. */
export function branchShape(name: string, isProtected: boolean): Record<string, unknown> {
  return {
    name,
    commit: {
      sha: 'c5b97d5ae6c19d5c5df71a34c7fbeeda2479ccbc',
      url: 'https://api.github.com/repos/o/r/commits/c5b97d5',
    },
    protected: isProtected,
    protection: { required_status_checks: { enforcement_level: 'non_admins', contexts: ['ci-test'] } },
    protection_url: `https://api.github.com/repos/o/r/branches/${name}/protection`,
  }
}

/** What GitHub says to a token that it does not accept. */
export const badCredentials = {
  message: 'Bad credentials',
  documentation_url: 'https://docs.github.com/rest',
  status: '401',
}

/** What it says of a repository whose name is taken. */
export const nameTaken = {
  message: 'Repository creation failed.',
  errors: [{ resource: 'Repository', code: 'custom', field: 'name', message: 'name already exists on this account' }],
  documentation_url: 'https://docs.github.com/rest/repos/repos#create-a-repository-for-the-authenticated-user',
  status: '422',
}

/** What it says once an account's requests of this hour are used up. */
export const rateLimitExceeded = {
  message: 'API rate limit exceeded for user ID 1.',
  documentation_url: 'https://docs.github.com/rest/overview/rate-limits-for-the-rest-api',
  status: '403',
}

/** What it says to a code that is wrong or was used; the status is 200. */
export const badVerificationCode = {
  error: 'bad_verification_code',
  error_description: 'The code passed is incorrect or expired.',
  error_uri:
    'https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/#bad-verification-code',
}

/** What it says to a refresh token that is wrong or was used; the status is 200. */
export const badRefreshToken = {
  error: 'bad_refresh_token',
  error_description: 'The refresh token passed is incorrect or expired.',
  error_uri: 'https://docs.github.com',
}
