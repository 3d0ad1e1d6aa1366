import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeatFolder } from '../../../src/agents/tmux/seat.ts'
import { startCommand } from '../../../src/agents/tmux/window/start-script.ts'
import { Tmux } from '../../../src/agents/tmux/window/tmux.ts'
import type { OpenSession } from '../../../src/domain/session.ts'
import { bareEnv, tempDir } from '../../support/world.ts'

test('a directory whose name is a command to tmux or to a shell is only a directory', async t => {
  const { tmux, root } = server(t)
  const cwd = join(root, "b#(touch pwned)$(touch pwned)'`touch pwned`#{host};")
  mkdirSync(cwd)
  const folder = new SeatFolder(join(root, 'r#(touch pwned)'), 's-1')
  folder.make({ session: 's-1', socket: 'x', awayMs: 0 })
  // An agent that says where it is, and whatever else it was given.
  const command = startCommand(folder, {
    ...{ executable: '/bin/sh', vendorId: 'v', appendPrompt: '', settings: '' },
    open: { cwd, settingSources: [] } as unknown as OpenSession,
    env: { WHERE: join(root, 'where'), 'x;touch pwned;y': '1' },
  })
  const script = String(command.at(-1))
  const text = readFileSync(script, 'utf8')
  assert.match(text, /\nexec '\/bin\/sh' '--settings'/)
  folder.write('start.sh', text.replace(/\nexec '\/bin\/sh'.*\n/, '\npwd -P >"$WHERE"; exec sleep 60\n'))
  await tmux.open({ name: 's-1', command })
  while (!existsSync(join(root, 'where')) || readFileSync(join(root, 'where'), 'utf8') === '') await sleep(20)
  assert.equal(readFileSync(join(root, 'where'), 'utf8').trim(), cwd)
  assert.deepEqual(
    [...readdirSync(root), ...readdirSync(cwd)].filter(name => name === 'pwned'),
    [],
  )
  assert.equal(existsSync('/pwned') || existsSync('pwned'), false)
})

test('a window gets no name that tmux would expand', async t => {
  const { tmux, root } = server(t)
  const name = `a#(touch ${root}/pwned)`
  await assert.rejects(tmux.open({ name, command: ['/bin/sleep', '1'] }), { code: 'tmux_failed' })
})

test('where the directory is gone, nothing begins elsewhere', async t => {
  const { tmux, root } = server(t)
  const begins = join(root, 'begins.sh')
  writeFileSync(begins, `#!/bin/sh\ntouch '${join(root, 'begun')}'\necho begun >&2\n`, { mode: 0o755 })
  const folder = new SeatFolder(root, 's-2')
  folder.make({ session: 's-2', socket: 'x', awayMs: 0 })
  const command = startCommand(folder, {
    ...{ executable: begins, vendorId: 'v', appendPrompt: '', settings: '' },
    open: { cwd: join(root, 'gone'), settingSources: [] } as unknown as OpenSession,
    env: {},
  })
  await tmux.open({ name: 's-2', command }).catch(() => undefined)
  while (isOpen(tmux)) await sleep(20)
  assert.match(folder.lastWords(), /cd/)
  assert.equal(existsSync(join(root, 'begun')), false)
})

function isOpen({ socket }: Tmux): boolean {
  return spawnSync('tmux', ['-S', socket, 'has-session', '-t', 's-2'], { stdio: 'ignore' }).status === 0
}

function server(t: TestContext): { tmux: Tmux; root: string } {
  // Before the folder is removed, and with it the way to the server.
  t.after(() => {
    try {
      execFileSync('tmux', ['-S', tmux.socket, 'kill-server'], { stdio: 'ignore' })
    } catch {
      // it went with its last window
    }
  })
  const root = tempDir(t)
  const tmux = new Tmux(join(root, 'tmux.sock'), bareEnv(root))
  return { tmux, root }
}
