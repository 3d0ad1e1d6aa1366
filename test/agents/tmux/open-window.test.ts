import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { tmuxDriver } from '../../../src/agents/tmux/driver.ts'
import { startCommand } from '../../../src/agents/tmux/launch.ts'
import { TmuxSessionFolder } from '../../../src/agents/tmux/session-folder.ts'
import { tmuxSocket } from '../../../src/agents/tmux/tmux.ts'
import { secretId } from '../../../src/base/ids.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarked } from '../../../src/base/process/sweep.ts'
import { findBubblewrap } from '../../../src/base/sandbox/bubblewrap.ts'
import { plantableFile } from '../../../src/base/sandbox/git.ts'
import { adoptSandbox, openSandbox } from '../../../src/base/sandbox/sandbox.ts'
import { NO_NEEDS } from '../../../src/base/sandbox/settings.ts'
import type { OpenSession } from '../../../src/domain/session.ts'
import { findGitFolder } from '../../../src/workspace/git/git-folder.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'

test('a window that tmux made without telling so is closed, with what began in it', async t => {
  const root = tempDir(t)
  const real = execFileSync('/bin/sh', ['-c', 'command -v tmux'], { encoding: 'utf8' }).trim()
  const program = (name: string, text: string) => {
    mkdirSync(join(root, 'bin'), { recursive: true })
    writeFileSync(join(root, 'bin', name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(root, 'bin', name), 0o755)
    return join(root, 'bin', name)
  }
  // Opens the window, waits until the agent runs in it, and prints nothing.
  program(
    'tmux',
    `${real} "$@" >/dev/null || exit 1; case "$*" in *new-session*) until test -e '${root}/begun'; do sleep 0.05; done; exit 1;; esac`,
  )
  const executable = program('agent', `touch '${root}/begun'; sleep 300`)
  const env = bareEnv(root)
  const socket = join(root, 'pcc.sock')
  t.after(() => {
    try {
      execFileSync(real, ['-S', tmuxSocket(socket), 'kill-server'], { stdio: 'ignore' })
    } catch {
      // it went with its last window
    }
  })
  const host = { run: root, socket }
  const driver = tmuxDriver(
    { ...host, env: { ...env, PATH: `${join(root, 'bin')}${delimiter}${env['PATH']}` } },
    { executable },
  )
  const marker = secretId(16)
  const session = await driver.open({
    ...{ id: 's-000001', cwd: root, marker, prompt: 'x', settingSources: [], tools: [] },
    env: { ...env, ANTHROPIC_API_KEY: 'sk-fake' },
    asks: { permission: async () => assert.fail(), question: async () => assert.fail() },
  } as unknown as OpenSession)
  const told: string[] = []
  for await (const event of session.events) told.push(event.kind)
  assert.equal(told.at(-1), 'ended')
  assert.equal(existsSync(join(root, 'begun')), true, 'it had begun')
  assert.deepEqual(await findMarked(sessionMarker(marker)), [])
  assert.equal(session.hasSurvivors, false)
  assert.equal(existsSync(join(root, 'tmux', 's-000001')), false)
})

test('an agent in tmux that leads git elsewhere ends, also while no daemon runs, and is found by the next one', async t => {
  const [home, project] = [tempDir(t), gitProject(t)]
  const bubblewrap = await findBubblewrap()
  assert.ok('program' in bubblewrap)
  const git = await findGitFolder(project)
  const file = join(project, '.git/commondir')
  assert.equal(plantableFile(git), file)
  const env = bareEnv(home)
  const settings = { mode: 'required' as const, network: ['*'], read: [], write: [], hidden: [], git }
  const folder = new TmuxSessionFolder(home, 's-000001')
  folder.create({ session: 's-000001', awayMs: 1 })
  const scratch = join(folder.path, 'box')
  const [own, planted] = ['description', 'COMMIT_EDITMSG'].map(name => join(project, '.git', name)) as [string, string]
  for (const path of [own, planted]) rmSync(path, { force: true })
  symlinkSync('/nowhere', own)
  await using sandbox = openSandbox({
    ...{ bubblewrap, settings: { ...settings, scratch }, needs: NO_NEEDS, env, reading: false },
    log: () => undefined,
  })
  const executable = join(project, 'agent')
  writeFileSync(executable, '#!/bin/sh\n(sleep 0.2; echo ../evil > .git/commondir) & sleep 600\n', { mode: 0o755 })
  const open = { id: 's-000001', cwd: project, env, settingSources: [] } as unknown as OpenSession
  const [command = '', ...args] = startCommand(folder, {
    ...{ executable, sandbox, open, plantable: plantableFile(git) },
    ...{ vendorId: '', settings: '', appendPrompt: '', env, marker: sessionMarker(secretId(16)) },
  })
  // This process, which guards like a daemon, hears of nothing meanwhile.
  const { signal } = spawnSync(command, args, { stdio: 'ignore', timeout: 60_000, killSignal: 'SIGTERM' })
  assert.equal(signal, 'SIGKILL')
  assert.equal(existsSync(file), false)
  writeFileSync(file, '../evil')
  mkdirSync(join(scratch, 'closed'), { recursive: true, mode: 0o000 })
  const adopted = adoptSandbox({ ...settings, scratch }, { reading: false, log: () => undefined })
  assert.equal(adopted.breached.aborted, true)
  assert.equal(existsSync(file), false)
  symlinkSync('/nowhere', planted)
  await adopted[Symbol.asyncDispose]()
  const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined
  assert.deepEqual(
    [planted, own].map(isThere),
    [false, true],
    'a link of the agent is removed, and one of the person is not',
  )
  assert.equal(existsSync(scratch), false)
})
