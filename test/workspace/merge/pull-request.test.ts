import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { bareEnv, tempDir } from '../../support/world.ts'
import { write } from '../worktrees/worktree-fixture.ts'
import { openMergeFixture } from './merge-fixture.ts'

/** Records its arguments and answers like gh: `pr list` prints open pull requests, `pr create` opens one. */
const GH = `#!/bin/sh
here=$(dirname "$0")
printf '%s\\n' "$@" '--' >>"$here/called"
if [ "$2" = list ]; then cat "$here/open" 2>/dev/null; exit 0; fi
cat >"$here/body"
echo "Creating pull request" >&2
echo https://example.invalid/pr/1 | tee "$here/open"
`

/** Stands in for ssh: the server is this machine. */
const SSH = `#!/bin/sh
if [ "$1" = -G ]; then exit 1; fi
for last; do :; done
exec sh -c "$last"
`

/** A merge fixture with a bare repository as its remote, and stand-ins for gh and ssh. */
async function proposing(t: TestContext, options: { gh?: boolean; remote?: boolean } = {}) {
  const world = await openMergeFixture(t)
  const tools = tempDir(t)
  const remote = join(tempDir(t), 'remote.git')
  world.git('init', '-q', '--bare', remote)
  if (options.remote ?? true) world.git('remote', 'add', 'origin', `ssh://git@example.invalid${remote}`)
  if (options.gh ?? true) {
    write(tools, { gh: GH })
    chmodSync(join(tools, 'gh'), 0o755)
  }
  write(tools, { ssh: SSH })
  chmodSync(join(tools, 'ssh'), 0o755)
  const env = { ...bareEnv(tools), GIT_SSH_COMMAND: join(tools, 'ssh') }
  world.driver.deps.env = { ...env, PATH: `${tools}:/usr/bin:/bin` }
  const worktree = await world.work('t-000001', { 'new.txt': 'new\n' })
  return { world, worktree, remote, called: () => readFileSync(join(tools, 'called'), 'utf8'), tools }
}

test('a pull request is opened in place of moving the target, with the work pushed to a branch of its own', async t => {
  const { world, worktree, remote, called, tools } = await proposing(t)
  const head = world.tip('pcc/t-000001')
  await world.enqueue(worktree, { asPullRequest: true })
  await world.advance()
  const row = await world.row('t-000001')
  assert.deepEqual([row.state, row.reason], ['proposed', 'https://example.invalid/pr/1'])
  assert.deepEqual(world.told, [{ kind: 'proposed', task: 't-000001' }])
  assert.equal(world.gitIn(remote, 'rev-parse', 'pcc/t-000001').trim(), head)
  assert.deepEqual(world.subjects(), ['first'], 'the target stays')
  assert.ok(existsSync(worktree.top), 'for what its readers may ask for')
  assert.match(called(), /pr\ncreate\n--repo\n.*remote\.git\n--head\npcc\/t-000001\n--base\nmain\n--title\nt-000001\n/)
  assert.match(readFileSync(join(tools, 'body'), 'utf8'), /\* work of t-000001\n\nTask t-000001, attempt 1/)
})

test('done again after a crash it finds the pull request that is there', async t => {
  const { world, worktree, called } = await proposing(t)
  for (let time = 0; time < 2; time += 1) {
    const { id } = await world.enqueue(worktree, { asPullRequest: true })
    await world.advance()
    assert.equal((await world.deps.store.merges.get(id))?.state, 'proposed')
  }
  assert.equal(called().split('create').length - 1, 1)
})

test('work that was rebased since it was proposed updates its pull request, but never over what others pushed', async t => {
  const { world, worktree, remote } = await proposing(t)
  const propose = async () => {
    const { id } = await world.enqueue(worktree, { asPullRequest: true })
    await world.advance()
    return world.deps.store.merges.get(id)
  }
  await propose()
  const first = world.gitIn(remote, 'rev-parse', 'pcc/t-000001').trim()
  world.commit({ 'other.txt': 'main has moved\n' })
  assert.equal((await propose())?.state, 'proposed')
  const second = world.gitIn(remote, 'rev-parse', 'pcc/t-000001').trim()
  assert.notEqual(second, first)
  world.gitIn(remote, 'update-ref', 'refs/heads/pcc/t-000001', first)
  world.commit({ 'other.txt': 'and again\n' })
  const refused = await propose()
  assert.deepEqual([refused?.state, /could not be pushed/.test(refused?.reason ?? '')], ['waiting', true])
  assert.equal(world.gitIn(remote, 'rev-parse', 'pcc/t-000001').trim(), first)
})

test('that gh or a remote is missing is said, nothing is lost, and it is proposed when that is mended', async t => {
  const without = await proposing(t, { gh: false })
  await without.world.enqueue(without.worktree, { asPullRequest: true })
  await without.world.advance()
  const why = async ({ world }: typeof without) => (await world.row('t-000001')).reason ?? ''
  assert.match(await why(without), /no pull request: the program gh is not installed/)
  const alone = await proposing(t, { remote: false })
  await alone.world.enqueue(alone.worktree, { asPullRequest: true })
  await alone.world.advance()
  assert.match(await why(alone), /has no remote: add one with git remote add origin ADDRESS/)
  assert.notEqual(alone.world.git('branch', '--list', 'pcc/t-000001'), '')
  const { world } = alone
  assert.deepEqual([(await world.row('t-000001')).state, world.told], ['waiting', []], 'nobody has to answer anything')
  world.git('remote', 'add', 'origin', `ssh://git@example.invalid${alone.remote}`)
  await world.advance()
  assert.equal((await world.row('t-000001')).state, 'waiting', 'the remote is not asked every few seconds')
  world.driver.deps.clock = { ...world.deps.clock, now: () => Date.now() + 10 * 60_000 }
  await world.advance()
  assert.equal((await world.row('t-000001')).state, 'proposed')
})

test('what the repository names as a program for a push is never started', async t => {
  const { world, worktree, remote } = await proposing(t)
  const proof = join(tempDir(t), 'ran')
  write(world.project, { '.git/evil': `#!/bin/sh\necho "$0 $@" >>${proof}\nexec git-receive-pack "$@"\n` })
  const evil = join(world.project, '.git', 'evil')
  chmodSync(evil, 0o755)
  world.git('config', 'remote.origin.receivepack', evil)
  world.git('config', 'core.sshCommand', evil)
  world.git('config', 'credential.helper', evil)
  write(world.project, { '.git/hooks/pre-push': `#!/bin/sh\necho hook >>${proof}\n` })
  chmodSync(join(world.project, '.git', 'hooks', 'pre-push'), 0o755)
  await world.enqueue(worktree, { asPullRequest: true })
  await world.advance()
  assert.equal((await world.row('t-000001')).state, 'proposed')
  assert.ok(!existsSync(proof), existsSync(proof) ? readFileSync(proof, 'utf8') : '')
  world.git('config', 'remote.origin.url', `ext::${evil}`)
  const other = await world.work('t-000002', { 'other.txt': 'x\n' })
  await world.enqueue(other, { asPullRequest: true })
  await world.advance()
  assert.match((await world.row('t-000002')).reason ?? '', /could not be pushed to origin/)
  assert.ok(!existsSync(proof))
  assert.ok(existsSync(remote))
})

test('a push asks no proxy that the repository names: it would get the login of the person', async t => {
  const { world, worktree } = await proposing(t)
  let asked = 0
  const proxy = createServer(client => {
    asked += 1
    client.destroy()
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  t.after(() => proxy.close())
  world.git('config', 'remote.origin.url', 'https://example.invalid/me/shop')
  world.git('config', 'http.proxy', `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`)
  await world.enqueue(worktree, { asPullRequest: true })
  await world.advance()
  assert.match((await world.row('t-000001')).reason ?? '', /could not be pushed to origin/)
  assert.equal(asked, 0)
})

test('a folder of this machine is no remote: the hooks in it are not run', async t => {
  const { world, worktree, remote } = await proposing(t)
  const proof = join(tempDir(t), 'ran')
  write(remote, { 'hooks/pre-receive': `#!/bin/sh\necho hook >>${proof}\n` })
  chmodSync(join(remote, 'hooks/pre-receive'), 0o755)
  world.git('config', 'remote.origin.url', remote)
  await world.enqueue(worktree, { asPullRequest: true })
  await world.advance()
  assert.match((await world.row('t-000001')).reason ?? '', /could not be pushed to origin/)
  assert.ok(!existsSync(proof))
})
