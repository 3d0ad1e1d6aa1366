import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { openGuard } from '../../src/base/process/guardian.ts'
import { commandSandboxes } from '../../src/workspace/command/plan-sandbox.ts'
import { commandEnvironment, runCommand } from '../../src/workspace/command/run-command.ts'
import { configWith } from '../brain/sample.ts'
import { bareEnv, makeRepository, tempDir } from '../support/world.ts'
import { SECRET } from './attack.ts'

/** A home with a key, a token of the daemon and a project in it; each command runs in a sandbox of its own. */
function openHome(t: TestContext, { git = true } = {}) {
  const home = join(tempDir(t), 'me')
  const project = join(home, 'project')
  mkdirSync(join(home, '.ssh'), { recursive: true })
  mkdirSync(join(project, 'packages/app'), { recursive: true })
  writeFileSync(join(home, '.ssh/id_rsa'), SECRET)
  writeFileSync(join(project, 'packages/app/a.txt'), 'a')
  if (git) makeRepository(project)
  const paths = appPathsFor({ env: { PCC_HOME: join(home, '.perpetualcc') } })
  mkdirSync(paths.run, { recursive: true })
  writeFileSync(paths.tokenFile, SECRET)
  const run = async (command: string, directory = project) => {
    await using sandbox = commandSandboxes(configWith({}), { project, paths, log: () => undefined })
    const { signal } = new AbortController()
    const env = commandEnvironment(bareEnv(home))
    const outcome = await runCommand(
      { command, directory, env, timeoutMs: 60_000, signal },
      { guard: openGuard(), sandbox },
    )
    return `${outcome.end} ${outcome.output}`
  }
  const host = (...args: string[]) => execFileSync('git', args, { cwd: project, env: bareEnv(home), encoding: 'utf8' })
  return { home, project, run, host }
}

const STEAL = 'cat ~/.ssh/id_rsa ~/.perpetualcc/run/token; echo evil >> ~/.ssh/authorized_keys'

/** What one command plants, so that the sandbox of the next one would show or let write what it should not. */
const PLANTS: Record<string, { git?: boolean; plant: string; in?: string }> = {
  'a link in place of a folder of the repository': { plant: 'ln -s ../../.ssh .git/lfs; ln -s ../.. .git/modules' },
  'a repository that is none any more': { plant: 'mv .git/HEAD .git/H' },
  'a folder that looks like a repository beside a broken one': {
    plant: 'mv .git/HEAD .git/H; mkdir -p c objects refs; cp .git/H HEAD; echo c > commondir; ln -s ../.. c/lfs',
  },
  'a .git that leads to the keys': { git: false, plant: 'printf "gitdir: %s\\n" ~/.ssh > .git' },
  'a .git that is a link': { git: false, plant: 'ln -s ../.ssh .git' },
  'a link in place of a folder above': {
    plant: 'cd ../..; mv packages p2; mkdir packages; ln -s ../../.ssh packages/app',
    in: 'packages/app',
  },
}

for (const [name, { git, plant, in: inside = '' }] of Object.entries(PLANTS)) {
  test(`${name}, planted by one command, opens nothing for the next one`, async t => {
    const { home, project, run } = openHome(t, { git })
    await run(plant, join(project, inside))
    const said = await run(STEAL, join(project, inside))
    assert.ok(!said.includes(SECRET), said)
    assert.equal(existsSync(join(home, '.ssh/authorized_keys')), false)
    assert.equal(readFileSync(join(home, '.ssh/id_rsa'), 'utf8'), SECRET)
  })
}

test('after a broken repository the next command does not write its settings and hooks', async t => {
  const { project, run } = openHome(t)
  await run('mv .git/HEAD .git/H')
  assert.match(await run('echo evil >> .git/config; echo evil > .git/hooks/post-commit'), /not the repository/)
  assert.equal(readFileSync(join(project, '.git/config'), 'utf8').includes('evil'), false)
  assert.equal(existsSync(join(project, '.git/hooks/post-commit')), false)
})

test('a file that the settings of git include, and that is missing, is not left to the agent', async t => {
  const { run, host } = openHome(t)
  host('config', 'include.path', '../missing.gitconfig')
  assert.match(await run('true'), /includes .*missing\.gitconfig, which does not exist/)
})

test('what a command leaves in the repository of a main checkout does not lead the person’s own git elsewhere', async t => {
  const { home, project, run, host } = openHome(t)
  const [mine, was] = [join(home, '.bashrc'), '# as it was\n']
  writeFileSync(mine, was)
  symlinkSync('../..', join(project, '.git/mine'))
  await run(
    `for name in COMMIT_EDITMSG logs/HEAD logs/refs/heads/main; do ln -sf ${mine} .git/$name; done; mkfifo .git/MERGE_MSG`,
  )
  host(
    '-c',
    'user.name=A',
    '-c',
    'user.email=a@example.invalid',
    'commit',
    '-q',
    '--allow-empty',
    '-m',
    '$(touch evil)',
  )
  assert.equal(readFileSync(mine, 'utf8'), was)
  assert.equal(existsSync(join(project, '.git/MERGE_MSG')), false)
  assert.ok(lstatSync(join(project, '.git/mine')).isSymbolicLink(), 'what was there before stays')
})

test('a file that the settings of git include only on another branch is not left to the agent either', async t => {
  const { project, run, host } = openHome(t)
  writeFileSync(join(project, 'team.gitconfig'), '[user]\n\tname = Team\n')
  host('config', 'includeIf.onbranch:evil.path', '../team.gitconfig')
  await run('git switch -qc evil; printf "[core]\\n\\tfsmonitor = touch evil\\n" >> team.gitconfig')
  assert.equal(readFileSync(join(project, 'team.gitconfig'), 'utf8').includes('evil'), false)
})

test('a worktree that claims to be another one writes nothing of it', async t => {
  const { home, run, host } = openHome(t)
  const trees = ['one', 'two'].map(name => join(home, name))
  for (const tree of trees) host('worktree', 'add', '-q', '--detach', tree)
  const [one = '', two = ''] = trees
  writeFileSync(join(one, '.git'), readFileSync(join(two, '.git')))
  const head = join(home, 'project/.git/worktrees/two/HEAD')
  const before = readFileSync(head, 'utf8')
  await run(`echo evil > ${head}`, one)
  assert.equal(readFileSync(head, 'utf8'), before)
})

test('the settings of the kernel cannot be written, and a folder closed to its owner is removed', async t => {
  const { home, run } = openHome(t)
  const said = await run('echo core > /proc/sys/kernel/core_pattern; mkdir -p /tmp/a/b; chmod 000 /tmp/a/b /tmp/a')
  assert.match(said, /Read-only file system|Permission denied/)
  assert.deepEqual(execFileSync('ls', ['-A', join(home, '.perpetualcc/run/boxes')], { encoding: 'utf8' }), '')
})

test('a repository that names the program from which missing objects are fetched does not have it run', async t => {
  const { home, project, run, host } = openHome(t)
  const sprung = join(home, 'sprung')
  const payload = join(home, 'payload.sh')
  writeFileSync(payload, `#!/bin/sh\ntouch '${sprung}'\n`, { mode: 0o755 })
  for (const folder of ['in', 'out']) {
    mkdirSync(join(project, folder))
    writeFileSync(join(project, folder, 'a'), folder)
  }
  host('add', '.')
  host('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`)
  host('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'one')
  host('sparse-checkout', 'set', '--cone', '--sparse-index', 'in')
  const tree = host('rev-parse', 'HEAD:out').trim()
  for (const [name, value] of Object.entries({
    'core.repositoryformatversion': '1',
    'extensions.partialClone': 'evil',
    'remote.evil.url': join(project, '.git'),
    'remote.evil.promisor': 'true',
    'remote.evil.uploadpack': payload,
  }))
    host('config', name, value)
  rmSync(join(project, '.git/objects', tree.slice(0, 2), tree.slice(2)))
  assert.match(await run('echo inside'), /inside/)
  assert.equal(existsSync(sprung), false)
  execFileSync('git', ['ls-files', '-s', '-z', '--stage'], { cwd: project, env: bareEnv(home), stdio: 'ignore' })
  assert.equal(existsSync(sprung), true, 'git by itself runs it')
})

test('code in a main checkout makes no object pass for another one, and hides no file and no difference from the person', async t => {
  const { run, host } = openHome(t)
  const old = host('rev-parse', 'HEAD:packages/app/a.txt').trim()
  host('-c', 'user.name=a', '-c', 'user.email=a@b.invalid', 'commit', '-q', '--allow-empty', '-m', 'two')
  const said = await run(`new=$(echo evil | git hash-object -w --stdin); git replace -f ${old} $new
    echo "$new refs/replace/${old}" >> .git/packed-refs; git rev-parse HEAD > .git/shallow
    echo planted.sh >> .git/info/exclude; echo '*.txt -diff' >> .git/info/attributes; git rev-parse HEAD > .git/info/grafts
    echo evil > planted.sh; echo b >> packages/app/a.txt`)
  assert.equal(said.match(/Read-only file system/g)?.length, 4, said)
  assert.match(host('status', '--short'), /planted\.sh/)
  assert.match(host('diff'), /\+ab/)
  assert.equal(host('cat-file', '-p', old), 'a')
  assert.equal(host('log', '--format=%s').trim().split('\n').length, 2)
})

test('where only some files are checked out, an agent chooses which, and the rest of that folder is the person’s', async t => {
  const { run, host } = openHome(t)
  host('sparse-checkout', 'set', 'packages')
  const said = await run(
    'git sparse-checkout add other && echo added; echo x >> .git/info/exclude; echo x > .git/info/attributes',
  )
  assert.match(said, /added/)
  assert.equal(said.match(/Read-only file system/g)?.length, 2, said)
  await run('git rev-parse HEAD > .git/info/grafts')
  assert.equal(host('sparse-checkout', 'list'), 'other\npackages\n')
  assert.match(host('status'), /On branch/)
})

test('settings of a worktree that are a link are not made where it leads', async t => {
  const { home, project, run } = openHome(t)
  symlinkSync(join(home, 'made-by-link'), join(project, '.git/config.worktree'))
  await run('true').catch(() => undefined)
  assert.equal(existsSync(join(home, 'made-by-link')), false)
})
