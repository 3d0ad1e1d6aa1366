import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { startCommand } from '../../../src/agents/tmux/launch.ts'
import { TmuxSessionFolder } from '../../../src/agents/tmux/session-folder.ts'
import { pasteText, Tmux } from '../../../src/agents/tmux/tmux.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import type { OpenSession } from '../../../src/domain/session.ts'
import { codePoint } from '../../support/code-point.ts'
import { bareEnv, tempDir } from '../../support/world.ts'

test('a directory whose name is a command to tmux or to a shell is only a directory', async t => {
  const { tmux, root } = server(t)
  const cwd = join(root, "b#(touch pwned)$(touch pwned)'`touch pwned`#{host};")
  mkdirSync(cwd)
  const folder = new TmuxSessionFolder(join(root, 'r#(touch pwned)'), 's-1')
  folder.create({ session: 's-1', awayMs: 0 })
  // An agent that records its folder; the paths and the environment contain hostile names.
  const command = startCommand(folder, {
    ...{ executable: '/bin/sh', vendorId: 'v', appendPrompt: '', settings: '', marker: sessionMarker('m') },
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
  const folder = new TmuxSessionFolder(root, 's-2')
  folder.create({ session: 's-2', awayMs: 0 })
  const command = startCommand(folder, {
    ...{ executable: begins, vendorId: 'v', appendPrompt: '', settings: '', marker: sessionMarker('m') },
    open: { cwd: join(root, 'gone'), settingSources: [] } as unknown as OpenSession,
    env: {},
  })
  await tmux.open({ name: 's-2', command }).catch(() => undefined)
  while (isOpen(tmux)) await sleep(20)
  assert.match(folder.readStderr(), /cd/)
  assert.equal(existsSync(join(root, 'begun')), false)
})

function isOpen({ socket }: Tmux): boolean {
  return spawnSync('tmux', ['-S', socket, 'has-session', '-t', 's-2'], { stdio: 'ignore' }).status === 0
}

function server(t: TestContext): { tmux: Tmux; root: string } {
  // Before the folder is removed, and the server's socket with it.
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

test('lines, tabs and words of every script are pasted as they are', () => {
  const text = 'Write a file:\n\tein Müller, 日本語, 👍\n\nand "quotes", $HOME, `ticks`, \\n'
  assert.equal(pasteText(text), text)
  assert.equal(pasteText('one\r\ntwo\rthree'), 'one\ntwo\nthree')
})

test('a text cannot end the paste and go on as keys', () => {
  assert.equal(pasteText('a\u001b[201~\r!touch x\u0003\u0004'), 'a[201~\n!touch x')
  assert.equal(pasteText('a\u009b201~b\u007f'), 'a201~b')
})

test('a text that begins like a command of Claude Code is led in by words', () => {
  for (const text of ['!rm -rf .', '/clear', ' /cost', '\n!ls', '# remember this', '& later', '@secrets.txt', '?']) {
    assert.equal(pasteText(text), `What is to be done:\n${text}`)
  }
  assert.equal(pasteText('Say "!" twice'), 'Say "!" twice')
})

test('whatever is pasted holds no control character but line ends and tabs, and begins with no sign of a command', () => {
  fc.assert(
    fc.property(fc.string({ unit: codePoint }), text => {
      const pasted = pasteText(text)
      assert.ok([...pasted].every(sign => sign === '\n' || sign === '\t' || !isControl(sign)))
      assert.doesNotMatch(pasted, /^\s*[/!#&@?]/)
    }),
  )
})

function isControl(sign: string): boolean {
  const code = sign.codePointAt(0) ?? 0
  return code < 0x20 || (code >= 0x7f && code < 0xa0)
}
