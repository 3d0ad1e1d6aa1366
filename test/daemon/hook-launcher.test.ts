import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { hookLauncher, hookRecord } from '../../src/base/app-paths.ts'
import { type LauncherPaths, launcherText, refreshLauncher } from '../../src/daemon/hook-launcher.ts'
import { tempDir } from '../support/world.ts'

/** Says how it was called, in place of node. */
const SAYS = '#!/bin/sh\necho "$0 $*"\n/usr/bin/env\n'

function program(path: string, script = SAYS): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, script, { mode: 0o755 })
  return path
}

/** A launcher with a program that says how it was called. The home has all that a shell could trip over. */
function launcher(t: TestContext, change: Partial<LauncherPaths> = {}) {
  const root = tempDir(t)
  const home = join(root, "it's a $HOME `x`")
  const file = hookLauncher({ home })
  const place = {
    ...{ home, node: program(join(root, 'node')), pcc: program(join(root, 'pcc.js')), search: join(root, 'bin') },
    ...change,
  }
  program(file, launcherText(place))
  writeFileSync(hookRecord({ home }), '{}')
  const run = (args: string[], env: Record<string, string> = {}) =>
    spawnSync(file, args, { env: { PATH: '/usr/bin:/bin', ...env }, encoding: 'utf8', input: '{}' })
  return { ...{ root, home, place }, run }
}

test('the launcher starts the recorded pcc with the vendor, the event and its home', t => {
  const { run, home, place } = launcher(t, { config: '/c d.toml', data: '/d' })
  const { stdout, status } = run(['claude', 'PreToolUse'])
  assert.equal(status, 0)
  assert.ok(
    stdout.startsWith(
      `${place.node} ${place.pcc} hook claude PreToolUse --home ${home} --config /c d.toml --data-dir /d\n`,
    ),
    stdout,
  )
  for (const line of [`PCC_HOME=${home}`, 'PATH=/usr/bin:/bin']) assert.ok(stdout.split('\n').includes(line), line)
})

test('no variable of the agent loads code, changes a setting or leads elsewhere', t => {
  const { run, root, home, place } = launcher(t)
  const evil = program(join(root, 'evil/pcc'), '#!/bin/sh\necho evil\n')
  for (const name of ['sh', 'node', 'env', 'printf', '[']) program(join(root, 'evil', name), '#!/bin/sh\necho evil\n')
  const loads = { NODE_OPTIONS: '--import=/evil.js', NODE_PATH: '/evil', NODE_COMPILE_CACHE: '/evil' }
  const settings = { PCC_PERMISSIONS_UNATTENDED_HIGH: 'ask', PCC_MODEL: 'x', PCC_CONFIG: '/evil.toml' }
  const places = { PCC_HOME: '/evil', PCC_DATA_DIRECTORY: '/evil', OPENSSL_CONF: '/evil' }
  const shell = { BASH_ENV: evil, ENV: evil, IFS: '/', CDPATH: '/', 'BASH_FUNC_[%%': '() { echo evil; }' }
  const { stdout } = run(['claude', 'PreToolUse'], {
    ...{ ...loads, ...settings, ...places, ...shell },
    PATH: `${dirname(evil)}:/usr/bin:/bin`,
  })
  assert.ok(stdout.startsWith(`${place.node} ${place.pcc} hook`), stdout)
  const seen = stdout.split('\n').filter(line => /^(NODE_|PCC_|OPENSSL|BASH_ENV|ENV=|CDPATH)/.test(line))
  assert.deepEqual(seen.sort(), [`NODE_COMPILE_CACHE=${home}/hooks/cache`, `PCC_HOME=${home}`])
})

test('a pcc that moved is searched where it was searched when the hooks were installed, not on the PATH of the agent', t => {
  const { run, root, place } = launcher(t)
  rmSync(place.node)
  program(join(root, 'evil/pcc'), '#!/bin/sh\necho evil\n')
  const moved = program(join(root, 'bin/pcc'))
  const { stdout } = run(['gemini', 'BeforeTool'], { PATH: `${join(root, 'evil')}:/usr/bin:/bin` })
  assert.ok(stdout.startsWith(`${moved} hook gemini BeforeTool --home`), stdout)
})

test('without pcc, calls are refused and everything else goes on', t => {
  const { run, place } = launcher(t)
  rmSync(place.pcc)
  const refused = run(['claude', 'PreToolUse'])
  assert.match(refused.stdout + refused.stderr, /pcc is not where it was/)
  assert.notEqual(`${refused.stdout}${refused.status}`, '0')
  const other = run(['claude', 'SessionEnd'])
  assert.deepEqual([other.status, other.stdout, other.stderr], [0, '', ''])
})

test('it says nothing in a sandbox of pcc, and a variable alone does not silence it', t => {
  const { run, home } = launcher(t)
  const mark = { PCC_SESSION_MARK: 'x' }
  assert.match(run(['claude', 'PreToolUse'], mark).stdout, /hook claude/)
  rmSync(hookRecord({ home })) // the sandbox shows the launcher and nothing else of the home
  assert.match(run(['claude', 'PreToolUse']).stdout, /hook claude/)
  const { status, stdout, stderr } = run(['claude', 'PreToolUse'], mark)
  assert.deepEqual([status, stdout, stderr], [0, '', ''])
})

test('it is written for its owner only, again when pcc moved or somebody changed it, and never unasked', t => {
  const home = join(tempDir(t), 'home')
  const file = hookLauncher({ home })
  const env = { PATH: '/usr/bin:/bin' }
  assert.equal(refreshLauncher({ home }, { env }), 'missing')
  assert.equal(existsSync(home), false)
  assert.equal(refreshLauncher({ home }, { env, create: true }), 'written')
  assert.equal(statSync(file).mode & 0o777, 0o700)
  assert.equal(statSync(dirname(file)).mode & 0o777, 0o700)
  assert.equal(refreshLauncher({ home }, { env }), 'kept')
  assert.equal(refreshLauncher({ home }, { env: { PATH: '/opt/bin' } }), 'written')
  writeFileSync(file, 'echo evil')
  assert.equal(refreshLauncher({ home }, { env }), 'written')
  assert.match(readFileSync(file, 'utf8'), /^#!\/bin\/sh/)
  rmSync(file)
  const theirs = join(home, 'theirs')
  writeFileSync(theirs, 'theirs')
  symlinkSync(theirs, file)
  assert.equal(refreshLauncher({ home }, { env }), 'written')
  assert.equal(readFileSync(theirs, 'utf8'), 'theirs')
})
