import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { findGitFolder } from '../../../src/workspace/git/git-folder.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'
import { bubblewrap, inSandbox } from './a-sandbox.ts'
import { refusedHere } from './refused-here.ts'

// What git of the person does outside while an agent works, and what of its settings the agent sees.

const sandboxed = (title: string, body: (t: TestContext) => Promise<void>) =>
  test(title, 'program' in bubblewrap ? body : refusedHere)

sandboxed(
  'an agent that could write in settings of git, because git outside replaced them, is ended, and they are put back',
  async t => {
    const [project, home] = [gitProject(t), tempDir(t)]
    const host = (...args: string[]) => execFileSync('git', args, { cwd: project, env: bareEnv(home), stdio: 'pipe' })
    const { agent, start } = await inSandbox(t, { project, settings: { git: await findGitFolder(project) } })
    const evil = 'printf "[core]\\n\\tfsmonitor = touch run; false\\n" >> .git/config'
    await once(
      start('/bin/sh', '-c', `echo begun; until { ${evil}; } 2>/dev/null; do :; done; sleep 600`).stdout,
      'data',
    )
    host('config', 'branch.main.description', 'mine')
    await agent.exited()
    assert.match(agent.failureText, /\.git\/config was replaced meanwhile/)
    await agent.end()
    host('status')
    assert.equal(existsSync(join(project, 'run')), false)
  },
)

sandboxed('of the settings of git it reads no login, in whatever form git takes one', async t => {
  const home = tempDir(t)
  const secrets = [
    '[github]\n\toauth-token = PLANTED',
    '[bitbucket]\n\tapp-password = PLANTED',
    '[gitea]\n\tapi-key = PLANTED',
    '[imap]\n\tpass = PLANTED',
    '[http]\n\tproxy = me:PLANTED@proxy:8080',
    '[remote "y"]\n\turl = me:PLANTED@host:x',
    '[credential]\n\thelper = "!f() { echo pwd=PLANTED; }; f"',
  ]
  const kept = '[user]\n\tname = Ann\n[url "git@host:"]\n\tinsteadOf = gh:\n[remote "z"]\n\turl = git@host:x/y.git\n'
  writeFileSync(join(home, '.gitconfig'), `${kept}${secrets.join('\n')}\n`)
  const { agent, sh } = await inSandbox(t, { project: gitProject(t), home })
  const { out } = await sh('cat ~/.gitconfig')
  await agent.end()
  assert.doesNotMatch(out, /PLANTED/)
  assert.ok(out.startsWith(kept.trim()), out)
})

sandboxed('what the person notes about a branch while an agent works stays', async t => {
  const [project, home] = [gitProject(t), tempDir(t)]
  const host = (...args: string[]) => execFileSync('git', args, { cwd: project, env: bareEnv(home), encoding: 'utf8' })
  host('remote', 'add', 'origin', '/nowhere')
  const { agent, start, said } = await inSandbox(t, { project, settings: { git: await findGitFolder(project) } })
  await once(start('/bin/sh', '-c', 'echo begun; sleep 600').stdout, 'data')
  host('config', 'branch.main.remote', 'origin')
  await agent.exited()
  await agent.end()
  assert.equal(host('config', 'branch.main.remote'), 'origin\n')
  assert.deepEqual(said, [])
})

sandboxed(
  'in the main checkout the folder of all worktrees stays closed when the last goes and another comes',
  async t => {
    const [project, home] = [gitProject(t), tempDir(t)]
    const host = (...args: string[]) => execFileSync('git', args, { cwd: project, env: bareEnv(home), stdio: 'pipe' })
    const [one, two] = [join(home, 'one'), join(home, 'two')]
    host('worktree', 'add', '-q', '-b', 'one', one)
    const { agent, start } = await inSandbox(t, { project, settings: { git: await findGitFolder(project) } })
    const tries =
      'for f in two/commondir new; do (echo x > .git/worktrees/$f) 2>/dev/null && echo wrote $f; done; echo tried'
    const child = start('/bin/sh', '-c', `echo begun; read go; ${tries}`)
    await once(child.stdout, 'data')
    host('worktree', 'remove', one)
    host('worktree', 'prune')
    host('worktree', 'add', '-q', '-b', 'two', two)
    child.stdin.end('go\n')
    assert.equal(await text(child.stdout as Readable), 'tried\n')
    await agent.end()
  },
)

sandboxed(
  'in the main checkout no remote can be written in the ways of an old git, also where there is none yet',
  async t => {
    const project = gitProject(t)
    const { agent, start } = await inSandbox(t, { project, settings: { git: await findGitFolder(project) } })
    const tries =
      'for f in remotes branches; do mkdir -p .git/$f; (echo "URL: cache.git" > .git/$f/origin) 2>/dev/null && echo wrote $f; done; echo tried'
    assert.equal(await text(start('/bin/sh', '-c', tries).stdout as Readable), 'tried\n')
    await agent.end()
  },
)
