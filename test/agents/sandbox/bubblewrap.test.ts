import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findBubblewrap, findNeededSandbox, mountArgs } from '../../../src/base/sandbox/bubblewrap.ts'
import { openGitSettings } from '../../../src/base/sandbox/git.ts'
import { makeScratch } from '../../../src/base/sandbox/home.ts'
import { systemCallFilter } from '../../../src/base/sandbox/seccomp.ts'
import { NO_NEEDS } from '../../../src/base/sandbox/settings.ts'
import { mountsFor } from '../../../src/base/sandbox/visible-paths.ts'
import { gitProject, tempDir } from '../../support/world.ts'
import { stage } from '../acp/stage.ts'
import { agentFolder, bubblewrap, inSandbox } from './a-sandbox.ts'
import { refusedHere } from './refused-here.ts'

const there = async () => ({ program: '/usr/bin/bwrap', version: '0.8.0' })
const none = async () => ({ problem: 'bubblewrap is not installed', install: 'Install bubblewrap.' })

test('an agent runs in a sandbox where there is one, unless it is switched off', async () => {
  assert.deepEqual(await findNeededSandbox('Gemini CLI', 'auto', there), await there())
  assert.deepEqual(await findNeededSandbox('Gemini CLI', 'required', there), await there())
  assert.equal(await findNeededSandbox('Gemini CLI', 'off', there), undefined)
})

test('without bubblewrap "auto" goes on and says so, and "required" refuses, with what to install', async () => {
  assert.deepEqual(await findNeededSandbox('Gemini CLI', 'auto', none), await none())
  await assert.rejects(findNeededSandbox('Gemini CLI', 'required', none), {
    code: 'sandbox_missing',
    message: /Gemini CLI has to run in a sandbox.*bubblewrap is not installed/,
    next: /^Install bubblewrap\. Or let it run without one/,
  })
})

test('a machine without bubblewrap on its PATH is told what to install', async () => {
  const found = await findBubblewrap({ PATH: '/nowhere' })
  assert.ok('problem' in found)
  assert.match(found.install, /apt-get install bubblewrap|Run on Linux/)
})

test('a bubblewrap that is too old, or may not make namespaces, here or in a container, is told apart, with what to do', async t => {
  if (process.platform !== 'linux') return
  const find = async (says: string, env: Record<string, string> = {}) => {
    const dir = tempDir(t)
    const script = `#!/bin/sh\n[ "$1" = --version ] && { echo bubblewrap 0.4.1; exit; }\necho "bwrap: ${says}" >&2; exit 1\n`
    writeFileSync(join(dir, 'bwrap'), script, { mode: 0o755 })
    const found = await findBubblewrap({ PATH: `${dir}:/usr/bin:/bin`, ...env })
    assert.ok('problem' in found && found.problem.includes(says), JSON.stringify(found))
    await assert.rejects(
      findNeededSandbox('An agent', 'required', async () => found),
      { code: 'sandbox_missing' },
    )
    return found.install
  }
  assert.match(await find('Unknown option --disable-userns'), /bubblewrap 0\.8 or newer/)
  const forbidden = await find('setting up uid map: Permission denied')
  assert.match(forbidden, /AppArmor|This is a container/)
  assert.match(await find('No permissions to create a new namespace', { container: 'podman' }), /This is a container/)
})

test('who was let in because a sandbox stands is started in it or not at all, whatever a second look would say', async t => {
  const made = { program: '/nowhere/bwrap', version: '0.8.0' }
  const sandbox = { mode: 'auto' as const, made, network: ['*'], read: [], write: [], hidden: [] }
  const { talk, heard } = await stage(t, {}, { open: { sandbox } })
  assert.equal((await talk.turn()).failure?.kind, 'agent_missing')
  assert.deepEqual(heard(), [])
})

test('a program that is not there is not started bare, and that is said', async t => {
  if (!('program' in bubblewrap)) return refusedHere(t)
  const { start } = await inSandbox(t, { project: gitProject(t) })
  assert.throws(() => start('no-such-agent'), { code: 'agent_missing', message: /there is no program no-such-agent/ })
})

test('what is hidden lies over the system, what is shown over that, then what may be written, then what may not, and last what may again', () => {
  const args = mountArgs({
    ...{ hidden: ['/home/me'], shown: ['/home/me/bin'], writable: ['/p/.git', '/p'], kept: ['/p/.git/hooks'] },
    ...{ regained: ['/p/.git/hooks/mine'], tmp: '/box/tmp', replaced: [{ from: '/box/home', to: '/home/me' }] },
    masked: ['/var/lib/x.sock'],
    fixed: ['/p', '/p/.git', '/p/.git/hooks', '/p/.git/hooks/mine'],
    shownElsewhere: [{ from: '/home/me/.m2', to: '/run/m2' }],
    caches: [{ from: '/caches/npm', to: '/home/me/.npm' }],
    copies: [{ from: '/box/hooks-1', to: '/p/.husky/_' }],
  }).join(' ')
  assert.match(
    args,
    /^--ro-bind \/ \/ .*--ro-bind \/proc\/sys \S+ .*--bind \/box\/tmp \/tmp .*--tmpfs \/run --bind \/box\/home \/home\/me --ro-bind \/home\/me\/bin \S+ --ro-bind \/home\/me\/.m2 \/run\/m2 --bind \/caches\/npm \/home\/me\/.npm --ro-bind \/dev\/null \/var\/lib\/x\.sock --bind \/p \/p --bind \/p\/\.git \S+ --ro-bind \/p\/\.git\/hooks \S+ --bind \/p\/\.git\/hooks\/mine \S+ --bind \/box\/hooks-1 \/p\/\.husky\/_$/,
  )
})

test('the home of the agent, that of the daemon and what the settings name are hidden', t => {
  const [home, named] = [tempDir(t), tempDir(t)]
  const scratch = makeScratch(tempDir(t))
  const inside = { cwd: gitProject(t), env: { HOME: home }, command: 'sh', args: [], shows: [], writes: [] }
  const settings = { mode: 'auto' as const, network: [], read: [], write: [], hidden: [named] }
  const { hidden, shown, writable } = mountsFor(inside, {
    ...{
      settings,
      needs: { folder: agentFolder({ name: '.mine' }), hosts: [], addresses: [] },
      reading: false,
      env: inside.env,
      scratch,
      readGitSettings: openGitSettings(),
    },
  })
  for (const path of [home, homedir(), named]) assert.ok(hidden.includes(path), path)
  assert.ok(![...shown, ...writable].some(path => [home, homedir(), named].includes(path)))
  assert.ok(writable.includes(`${home}/.mine`))
})

test('a folder of sockets that is not in /run is hidden as a whole, so that one made later is not there either', t => {
  const scratch = makeScratch(tempDir(t))
  const project = gitProject(t)
  const settings = { mode: 'auto' as const, network: [], read: [], write: [], hidden: [] }
  const hiddenWith = (env: Record<string, string>, cwd = project) => {
    const inside = { cwd, env: { HOME: tempDir(t), ...env }, command: 'sh', args: [], shows: [], writes: [] }
    const needs = { needs: NO_NEEDS, env: inside.env, readGitSettings: openGitSettings() }
    return mountsFor(inside, { settings, reading: false, scratch, ...needs }).hidden
  }
  for (const name of ['XDG_RUNTIME_DIR', 'TMPDIR', 'TMUX_TMPDIR'])
    assert.ok(hiddenWith({ [name]: '/var/lib' }).includes('/var/lib'), name)
  assert.ok(!hiddenWith({ TMPDIR: '/', XDG_RUNTIME_DIR: 'run' }).includes('/'))
  mkdirSync(join(project, 'tmp'))
  assert.ok(!hiddenWith({ TMPDIR: join(project, 'tmp') }).includes(join(project, 'tmp')), 'the project’s own')
})

/** What the kernel would answer: it reads a filter step by step. */
function judge(filter: Buffer, asked: { kind: number; call: number; first?: number; second?: number }): string {
  const { kind, call, first = 0, second = 0 } = asked
  const input = new Map([
    [0, call],
    [4, kind],
    [16, first],
    [24, second],
  ])
  let held = 0
  for (let at = 0; ; at += 1) {
    const [code, k] = [filter.readUInt16LE(at * 8), filter.readUInt32LE(at * 8 + 4)]
    const jump = (isTrue: boolean) => filter.readUInt8(at * 8 + (isTrue ? 2 : 3))
    if (code === 0x06) return k === 0x7fff0000 ? 'allowed' : `refused ${k - 0x50000}`
    if (code === 0x20) held = input.get(k) ?? Number.NaN
    else if (code === 0x15) at += jump(held === k)
    else if (code === 0x35) at += jump(held >= k)
    else throw new Error(`no step has the code ${code}`)
  }
}

test('keys, foreign descriptors, typing into a terminal and sockets to the host are refused to programs of each kind, and everything else is allowed', () => {
  const kinds = [
    {
      arch: 'x64',
      kind: 0xc000003e,
      socket: 41,
      ioctl: 16,
      refused: [248, 249, 250, 438, 321, 425, 0x40000000 + 39],
      open: 257,
    },
    { arch: 'x64', kind: 0x40000003, socket: 359, ioctl: 54, refused: [286, 287, 288, 438, 357, 425, 102], open: 295 },
    { arch: 'arm64', kind: 0xc00000b7, socket: 198, ioctl: 29, refused: [217, 218, 219, 438, 280, 425], open: 56 },
    { arch: 'arm64', kind: 0x40000028, socket: 281, ioctl: 54, refused: [309, 310, 311, 438, 386, 425], open: 322 },
  ]
  for (const { arch, kind, socket, ioctl, refused, open } of kinds) {
    const filter = systemCallFilter(arch)
    assert.ok(filter)
    for (const call of refused) assert.equal(judge(filter, { kind, call }), 'refused 1', `${arch} ${call}`)
    const typing = [0x5412, 0x541c, 0x5413].map(second => judge(filter, { kind, call: ioctl, second }))
    assert.deepEqual(typing, ['refused 1', 'refused 1', 'allowed'], arch)
    const sockets = [40, 1, 2, 10].map(first => judge(filter, { kind, call: socket, first, second: 40 }))
    assert.deepEqual(sockets, ['refused 1', 'allowed', 'allowed', 'allowed'], arch)
    for (const call of [0, 1, open, 437, 439])
      assert.equal(judge(filter, { kind, call, first: 40, second: 0x5412 }), 'allowed')
    assert.equal(judge(filter, { kind: 0x1234, call: 0 }), 'refused 1')
  }
  assert.equal(systemCallFilter('riscv64'), undefined)
})
