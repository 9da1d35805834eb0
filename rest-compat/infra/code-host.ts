/** Code hosting over REST. */
import type { Routes } from '../routes.ts'

const routes: Routes = {
  'GET /api/v1/codehost/app-info': {
    status: 200,
    errors: [],
    summary: 'The app that people authorize to connect their accounts',
    operation: `query getCodeHostApp { body: codeHostApp { app_name: name client_id: clientId installation_url: installationUrl } }`,
  },
  'DELETE /api/v1/codehost/disconnect': {
    status: 200,
    errors: [401, 500],
    summary: 'Disconnects the caller’s account and removes its token',
    operation: `mutation disconnectCodeHost ($input: DisconnectCodeHostInput!) { body: disconnectCodeHost(input: $input) { message } }`,
  },
  'GET /api/v1/codehost/repos': {
    status: 200,
    errors: [400, 401, 500],
    summary: 'A page of the repositories that the connected account reaches',
    operation: `query listCodeHostRepositories ($page: Int, $per_page: Int) { body: codeHostRepositories(page: $page, perPage: $per_page) {
      page per_page: perPage repos: nodes { id: number name full_name: fullName } } }`,
  },
  'GET /api/v1/codehost/repos/{owner}/{repo}/branches': {
    status: 200,
    errors: [400, 401, 500],
    summary: 'The branches of a repository',
    operation: `query listCodeHostBranches ($owner: String!, $repo: String!) { body: codeHostBranches(owner: $owner, repo: $repo) {
      owner repo branches: nodes { name protected: isProtected } } }`,
  },
  'POST /api/v1/codehost/repositories/create': {
    status: 201,
    errors: [400, 401, 500],
    summary: 'Creates a repository of the connected account',
    operation: `mutation createCodeHostRepository ($input: CreateCodeHostRepositoryInput!) { createCodeHostRepository(input: $input) {
      body: codeHostRepository { id: number name html_url: url } } }`,
  },
  'POST /api/v1/codehost/save-token': {
    status: 200,
    errors: [400, 401, 500],
    summary: 'Connects the account whose authorization gave this code',
    operation: `mutation connectCodeHost ($input: ConnectCodeHostInput!) { body: connectCodeHost(input: $input) { message } }`,
  },
  'GET /api/v1/codehost/status': {
    status: 200,
    errors: [401, 500],
    summary: 'Whether an account is connected, and whether the app is installed',
    operation: `query getCodeHostStatus { body: codeHostStatus { connected: isConnected installed: isInstalled username } }`,
  },
  'GET /api/v1/codehost/token-info': {
    status: 200,
    errors: [401, 404, 500],
    summary: 'What the stored token may do, and how it begins and ends',
    operation: `query getCodeHostToken { body: codeHostAccount { scopes: scopesText token_preview: tokenPreview } }`,
  },
}

/** A person's account at the code host. Clients that were written for GitHub alone say so in the path. */
export const codeHostRoutes: Routes = Object.fromEntries(
  Object.entries(routes).map(([key, route]) => [
    key,
    { ...route, alias: key.slice(key.indexOf('/')).replace('/codehost/', '/github/') },
  ]),
)
