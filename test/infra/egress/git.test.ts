/** Which requests are git's own: only they get the token of a connected account. */
import { describe, expect, test } from 'vitest'
import { isForGit, type GitUse } from '#src/drivers/compute/egress/git.ts'

const all: GitUse = { port: 443, repository: null, mayPush: true }
const reading: GitUse = { port: 443, repository: 'Owner/name', mayPush: false }
const get = (url: string, port = 443) => ({ port, method: 'GET', url })
const post = (url: string, port = 443) => ({ port, method: 'POST', url })

describe('the token of an account is used', () => {
  test.each([
    get('/owner/name.git/info/refs?service=git-upload-pack'),
    get('/owner/name/info/refs?service=git-receive-pack'),
    get('/group/sub.group/name.git/info/refs?service=git-upload-pack'),
    post('/owner/name.git/git-upload-pack'),
    post('/owner/name.git/git-receive-pack'),
  ])('for %j', (request) => expect(isForGit(all, request)).toBe(true))

  test.each([
    get('/owner/name.git/info/refs?service=git-upload-pack', 8443),
    get('/owner/name.git/info/refs'),
    get('/owner/name.git/info/refs?service=git-upload-archive'),
    get('/owner/name.git/info/refs?service=git-upload-pack&x=1'),
    get('/owner/name.git/info/refs?service=git-upload-pack?service=git-upload-pack'),
    get('/owner/name.git/git-upload-pack'),
    post('/owner/name.git/info/refs?service=git-upload-pack'),
    post('/owner/name.git/git-upload-pack?x=1'),
    post('/name.git/git-upload-pack'),
    post('/git-upload-pack'),
    post('//git-upload-pack'),
    post('/api/v3/../owner/git-upload-pack'),
    post('/owner/../name/git-upload-pack'),
    post('/owner/%2e%2e/git-upload-pack'),
    post('/owner//git-upload-pack'),
    post('/owner/na me/git-upload-pack'),
    post(`/owner/${'n'.repeat(2_000)}/git-upload-pack`),
    get('/api/v3/user'),
    post('/api/v3/user/repos'),
    get('/'),
    get(''),
  ])('never for %j', (request) => expect(isForGit(all, request)).toBe(false))
})

test('for a build it is used to read its own repository, in any spelling that a host takes for the same', () => {
  expect(isForGit(reading, get('/owner/Name.git/info/refs?service=git-upload-pack'))).toBe(true)
  expect(isForGit(reading, post('/Owner/name/git-upload-pack'))).toBe(true)
  expect(isForGit(reading, post('/owner/name.git/git-receive-pack'))).toBe(false)
  expect(isForGit(reading, get('/owner/name.git/info/refs?service=git-receive-pack'))).toBe(false)
  expect(isForGit(reading, post('/owner/other.git/git-upload-pack'))).toBe(false)
})
