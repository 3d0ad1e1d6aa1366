import assert from 'node:assert/strict'
import { homedir } from 'node:os'
import { test } from 'node:test'
import { findBubblewrap, findNeededSandbox, mountArgs } from '../../../src/base/sandbox/bubblewrap.ts'
import { makeScratch } from '../../../src/base/sandbox/home.ts'
import { mountsFor } from '../../../src/base/sandbox/visible-paths.ts'
import { gitProject, tempDir } from '../../support/world.ts'
import { stage } from '../acp/stage.ts'
import { bubblewrap, inSandbox } from './a-sandbox.ts'
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
    fixed: ['/p', '/p/.git', '/p/.git/hooks', '/p/.git/hooks/mine'],
    shownElsewhere: [{ from: '/home/me/.m2', to: '/run/m2' }],
    caches: [{ from: '/caches/npm', to: '/home/me/.npm' }],
  }).join(' ')
  assert.match(
    args,
    /^--ro-bind \/ \/ .*--ro-bind \/proc\/sys \S+ .*--bind \/box\/tmp \/tmp .*--tmpfs \/run --bind \/box\/home \/home\/me --ro-bind \/home\/me\/bin \S+ --ro-bind \/home\/me\/.m2 \/run\/m2 --bind \/caches\/npm \/home\/me\/.npm --bind \/p \/p --bind \/p\/\.git \S+ --ro-bind \/p\/\.git\/hooks \S+ --bind \/p\/\.git\/hooks\/mine \S+$/,
  )
})

test('the home of the agent, that of the daemon and what the settings name are hidden', t => {
  const [home, named] = [tempDir(t), tempDir(t)]
  const scratch = makeScratch(tempDir(t))
  const inside = { cwd: gitProject(t), env: { HOME: home }, command: 'sh', args: [], shows: [], writes: [] }
  const settings = { mode: 'auto' as const, network: [], read: [], write: [], hidden: [named] }
  const { hidden, shown, writable } = mountsFor(inside, {
    ...{ settings, needs: { state: ['.mine'], hosts: [], addresses: [] }, reading: false, scratch },
  })
  for (const path of [home, homedir(), named]) assert.ok(hidden.includes(path), path)
  assert.ok(![...shown, ...writable].some(path => [home, homedir(), named].includes(path)))
  assert.ok(writable.includes(`${home}/.mine`))
})
