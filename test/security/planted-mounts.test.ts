import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { findProgram } from '../../src/base/process/find-program.ts'
import { openGuard } from '../../src/base/process/guardian.ts'
import { bubblewrapCommand, lookForBubblewrap } from '../../src/base/sandbox/bubblewrap.ts'
import { comparingCommand } from '../../src/base/sandbox/mount-sources.ts'
import { canScope } from '../../src/base/sandbox/seccomp.ts'
import { commandSandboxes } from '../../src/workspace/command/plan-sandbox.ts'
import { commandEnvironment, runCommand } from '../../src/workspace/command/run-command.ts'
import { readNote, replaceBeside, writeNote } from '../../src/workspace/worktrees/worktree-note.ts'
import { configWith } from '../brain/sample.ts'
import { bareEnv, makeRepository, tempDir } from '../support/world.ts'
import { SECRET } from './attack.ts'
import { testAsOrdinaryUser } from './ordinary-user.ts'

/** A home with a key, and a repository in it with a worktree beside it. */
function plant(t: TestContext) {
  const home = tempDir(t)
  const [project, worktree] = [join(home, 'code/project'), join(home, 'trees/one')]
  for (const folder of [join(home, '.ssh'), project]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(home, '.ssh/id_rsa'), SECRET)
  makeRepository(project)
  writeFileSync(join(project, '.gitignore'), 'node_modules\n')
  const git = (...args: string[]) => execFileSync('git', ['-C', project, ...args], { encoding: 'utf8', stdio: 'pipe' })
  git('add', '.')
  git('-c', 'user.name=a', '-c', 'user.email=a@b.invalid', 'commit', '-qm', 'one')
  git('worktree', 'add', '-q', worktree, '-b', 'pcc/one')
  return { home, project, worktree }
}

/** Runs a command of a project as gates are run. */
async function run(
  command: string,
  {
    home,
    project,
    directory = project,
    PATH,
    settings = {},
  }: { home: string; project: string; directory?: string; PATH?: string; settings?: Parameters<typeof configWith>[0] },
) {
  const paths = appPathsFor({ env: { PCC_HOME: join(home, 'pcc') } })
  const env = { ...commandEnvironment(bareEnv(home)), ...(PATH !== undefined && { PATH }) }
  await using sandbox = commandSandboxes(configWith(settings), { project, paths, log: () => undefined })
  const { signal } = new AbortController()
  return runCommand({ command, directory, env, timeoutMs: 60_000, signal }, { guard: openGuard(), sandbox })
}

test('a folder of the PATH that an agent has replaced by a link shows nothing of the home directory', async t => {
  const { home, project, worktree } = plant(t)
  assert.equal((await run('ln -s ../../.ssh node_modules', { home, project })).exit, 0)
  const PATH = `${project}/node_modules/.bin:${process.env['PATH']}`
  const { output } = await run('cat ~/.ssh/id_rsa', { home, project, directory: worktree, PATH })
  assert.match(output, /No such file/)
})

test('a project that an agent has replaced by a link to the home directory is refused, and never without a sandbox', async t => {
  const { home, project } = plant(t)
  mkdirSync(join(project, 'inner'))
  assert.equal((await run('mv inner aside && ln -s ../.. inner', { home, project })).exit, 0)
  const { output, end } = await run('cat .ssh/id_rsa', { home, project: join(project, 'inner') })
  assert.equal(end, 'not_started')
  assert.match(output, /inner is a link/)
})

test('what another agent puts in the place of a folder while a sandbox is made is not mounted', async t => {
  const { home, project } = plant(t)
  const inner = join(project, 'inner')
  mkdirSync(inner)
  const mounts = [
    '--ro-bind',
    '/',
    '/',
    '--proc',
    '/proc',
    '--tmpfs',
    home,
    '--bind',
    project,
    project,
    '--bind',
    inner,
    inner,
  ]
  const command = comparingCommand(mounts, [home], ['/bin/sh', '-c', 'cat "$0"/.ssh/id_rsa; echo ran', home])
  const bwrap = findProgram('bwrap', process.env) ?? 'bwrap'
  const made = bubblewrapCommand(bwrap, ['--unshare-user', ...mounts, '--', ...command], undefined)
  const start = () => spawnSync(made.command, made.args, { encoding: 'utf8' })
  assert.equal(start().stdout, 'ran\n')
  renameSync(inner, `${inner}-aside`)
  symlinkSync('../..', inner)
  const { status, stdout, stderr } = start()
  assert.deepEqual([status, stdout], [97, ''])
  assert.match(stderr, /nothing was started/)
})

test('a disk that is mounted or unmounted while a sandbox is made does not stop it and is not seen later; a link to a home that is a disk does', t => {
  const bwrap = findProgram('bwrap', process.env) ?? ''
  const script = join(import.meta.dirname, 'mounting.ts')
  const args = ['--map-root-user', '--mount', process.execPath, script, tempDir(t), bwrap]
  const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' })
  const expected = { nothing: '1', mounted: '1', unmounted: '1', linked: '97', later: '' }
  assert.deepEqual(JSON.parse(stdout || 'null'), expected, stderr)
})

test('logins among the programs and settings of the home that are shown are left out, and the rest of those files is there', async t => {
  const { home, project } = plant(t)
  const files = {
    '.local/share/uv/credentials/credentials.toml': `password = "${SECRET}"`,
    '.npm-global/etc/npmrc': `//r.example/:_authToken=${SECRET}`,
    '.nvm/versions/node/v24.0.0/etc/npmrc': `registry=https://r.example/\n//r.example/:_authToken=${SECRET}\n`,
    '.pyenv/versions/3.13/pip.conf': `[global]\nindex-url = https://me:${SECRET}@pypi.example/\ntimeout = 9\n`,
    '.asdf/plugins/x/.git/config': `[remote "origin"]\n\turl = https://${SECRET}@git.example/x\n`,
    'more.gitconfig': `[core] pager = less\n[http]\n\textraHeader = one \\\n  ${SECRET}\n[github]\n\ttoken = ${SECRET}\n`,
    '.gitconfig': `[user]\n\tname = Ada\n[url "https://${SECRET}@github.com/"]\n\tinsteadOf = https://github.com/
[http "https://git.example/"] extraHeader = Authorization: Basic ${SECRET}
[url "ssh://git@github.com/"]\n\tinsteadOf = gh:\n[credential]\n\thelper = "!f() { echo password=${SECRET}; }; f"\n\thelper = cache
[include]\n\tpath = ~/more.gitconfig\n`,
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true })
    writeFileSync(join(home, name), text)
  }
  const kept = ['user.name', 'core.pager', 'credential.helper', 'url.ssh://git@github.com/.insteadOf']
  const look = `cd; grep -rl ${SECRET} .; git config -f .gitconfig --includes --list | grep -iE '^(${kept.join('|')})='`
  const rest = 'cat .nvm/versions/node/*/etc/npmrc .pyenv/versions/*/pip.conf'
  const { output } = await run(`${look}; ${rest}`, { home, project })
  const settings = [
    'user.name=Ada',
    'url.ssh://git@github.com/.insteadof=gh:',
    'credential.helper=cache',
    'core.pager=less',
  ]
  const others = ['registry=https://r.example/', '[global]', 'timeout = 9']
  assert.deepEqual(output.trim().split('\n'), [...settings, ...others])
})

test('where worktrees are in the project, code in the main checkout leaves no link there, and pcc writes its notes through none', async t => {
  const { home, project } = plant(t)
  const [trees, key] = [join(project, '.worktrees'), join(home, '.ssh/id_rsa')]
  const link = `ln -s ${key} .worktrees/.slot-1.pcc-note.json.new`
  const settings = { 'worktrees.directory': trees }
  const { output } = await run(`mkdir -p .worktrees; ${link}; mv .worktrees aside`, { home, project, settings })
  assert.match(output, /Read-only file system[\s\S]*busy/)
  assert.deepEqual(readdirSync(trees), [])
  for (const name of ['note.json', 'index']) symlinkSync(key, join(trees, `.slot-1.pcc-${name}.new`))
  const top = join(trees, 'slot-1')
  await writeNote(top, { sparse: 'of pcc' })
  await replaceBeside(join(trees, '.slot-1.pcc-index'), 'of pcc')
  assert.equal((await readNote(top)).sparse, 'of pcc')
  assert.equal(readFileSync(key, 'utf8'), SECRET)
})

test('an agent in the main checkout cannot exchange what sandboxes of worktrees mount of its repository', async t => {
  const { home, project } = plant(t)
  const { output } = await run('for name in objects refs logs; do mv .git/$name .git/x; done', { home, project })
  assert.equal(output.match(/busy/g)?.length, 3, output)
})

test('a repository that an agent makes of a submodule runs nothing when the person looks at the status', async t => {
  const { home, project } = plant(t)
  const sprung = join(home, 'sprung')
  const made = `mkdir mine && cd mine && git init -q && git -c user.name=a -c user.email=a@b.invalid commit -q --allow-empty -m x &&
    git config core.fsmonitor "touch ${sprung}; :" && cd .. && git add mine`
  assert.equal((await run(made, { home, project })).exit, 0)
  execFileSync('git', ['-C', project, 'status'], { encoding: 'utf8', stdio: 'pipe' })
  assert.equal(existsSync(sprung), false)
  assert.match(readdirSync(join(project, 'mine')).join(), /set-aside/)
})

test('a pipe among the objects is gone after its sandbox, and an agent cannot borrow objects from elsewhere', async t => {
  const { home, project, worktree } = plant(t)
  const objects = join(project, '.git/objects')
  const inside = `mkfifo ${objects}/pack/multi-pack-index; echo /elsewhere > ${objects}/info/alternates`
  const { output } = await run(inside, { home, project, directory: worktree })
  assert.match(output, /Read-only file system/)
  assert.deepEqual(readdirSync(join(objects, 'pack')), [])
})

test('an abstract socket of the machine, as an X server has one, is not reached', async t => {
  const { home, project } = plant(t)
  const name = `/tmp/.X11-unix/X${process.pid}`
  const server = createServer(socket => socket.end('typed')).listen(`\0${name}`)
  t.after(() => server.close())
  const reach = (where: string) =>
    `node -e "require('net').connect('\\0${where}').on('error', e => console.log(e.code)).on('data', d => console.log(String(d)))"`
  const { output } = await run(reach(name), { home, project })
  if (!canScope()) return t.diagnostic('this kernel has no scopes: the socket is reached, as docs/sandbox.md says')
  assert.equal(output.trim(), 'EPERM')
  const own = `node -e "const s = require('net').createServer(c => { c.end(); s.close(); console.log('own') }).listen('\\0own', () => require('net').connect('\\0own').resume())"`
  assert.equal((await run(own, { home, project })).output.trim(), 'own')
})

test('where a sandbox could be made before, a failure is an error and no reason to go on without one', async t => {
  const folder = tempDir(t)
  const PATH = `${folder}:${process.env['PATH']}`
  const works = (script: string) => writeFileSync(join(folder, 'bwrap'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  works(`exec ${execFileSync('sh', ['-c', 'command -v bwrap'], { encoding: 'utf8' }).trim()} "$@"`)
  assert.ok('program' in (await lookForBubblewrap({ PATH })))
  works('echo "Resource temporarily unavailable" >&2; exit 1')
  t.mock.method(performance, 'now', () => 10 ** 9)
  await assert.rejects(lookForBubblewrap({ PATH }), { code: 'sandbox_failed' })
  rmSync(join(folder, 'bwrap'))
})

test('the same holds for an ordinary user', async t => {
  const again = await testAsOrdinaryUser(t, 'test/security/planted-mounts.test.ts')
  if (!again) return t.diagnostic('this is an ordinary user')
  assert.equal(again.code, 0, again.output)
})
