import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { tmuxDriver } from '../../../src/agents/tmux/driver.ts'
import { TmuxSessionFolder } from '../../../src/agents/tmux/session-folder.ts'
import { Tmux, tmuxSocket } from '../../../src/agents/tmux/tmux.ts'
import { rawStartTime } from '../../../src/base/process/process-table.ts'
import type { OpenSession, Session } from '../../../src/domain/session.ts'
import { bareEnv, tempDir } from '../../support/world.ts'

const VENDOR = '00000000-0000-4000-8000-000000000001'
/** The key that the test presses last: all keys before it were pressed by pcc. */
const MARK = '~'

test('in a terminal that a person has, an interrupt presses no key and says so; a close ends it without one', async t => {
  const { session, keys, press } = await adopted(t, { takenOver: true })
  await assert.rejects(session.interrupt(), { code: 'terminal_taken', message: /A person has taken over the terminal/ })
  await press(MARK)
  assert.equal(await keys(MARK), MARK)
  await session[Symbol.asyncDispose]()
  assert.equal(await keys(MARK), MARK)
  assert.deepEqual((await told(session)).at(-1), 'ended')
})

test('in a terminal that nobody has, an interrupt is the key of a person', async t => {
  const { session, keys, press } = await adopted(t, { takenOver: false })
  await session.interrupt()
  await press(MARK)
  assert.equal(await keys(MARK), `\u001b${MARK}`)
})

test('/compact is refused in a terminal, with what to do, and nothing is typed', async t => {
  const { session, keys, press } = await adopted(t, { takenOver: true })
  await assert.rejects(session.prompt(' /compact\n'), { code: 'terminal_command', message: /\/compact/ })
  await press(MARK)
  assert.equal(await keys(MARK), MARK)
})

test('handed back while a dialog stands for the moment until our hook answers it, the terminal is taken once it is gone', async t => {
  const { session, says } = await adopted(t, { takenOver: true })
  says('waiting')
  const handed = session.handback?.()
  says('busy')
  await handed
  assert.equal(session.takenOver, false)
})

test('a dialog that stays asks a person: the terminal is not taken back', async t => {
  const { session, says } = await adopted(t, { takenOver: true, dialogMs: 100 })
  says('waiting')
  await assert.rejects(session.handback?.() ?? Promise.resolve(), { code: 'terminal_asks' })
  assert.equal(session.takenOver, true)
})

/** A session with a window that an earlier daemon left in the middle of a turn. The program in it records every key. */
async function adopted(t: TestContext, { takenOver, ...driver }: { takenOver: boolean; dialogMs?: number }) {
  // Before its folder is removed, and the server's socket with it.
  const before: (() => Promise<void>)[] = []
  t.after(() => Promise.all(before.map(end => end())))
  const root = tempDir(t)
  const env = bareEnv(root)
  const socket = join(root, 'pcc.sock')
  const tmux = new Tmux(tmuxSocket(socket), env)
  const file = join(root, 'keys')
  const { pane, pid } = await tmux.open({
    name: 's-000001',
    command: ['/bin/sh', '-c', `stty raw -echo; : > '${file}'; exec dd bs=1 of='${file}' 2>/dev/null`],
  })
  before.push(() => tmux.close('s-000001'))
  while (!existsSync(file)) await sleep(20)
  const folder = new TmuxSessionFolder(root, 's-000001')
  folder.create({ session: 's-000001', awayMs: 1000 })
  const at = { pane, pid, born: rawStartTime(pid) ?? '', vendorId: VENDOR, config: root, marker: 'none-has-this' }
  folder.saveState({
    ...at,
    model: '',
    offset: 0,
    takenOver,
    working: true,
    owed: false,
    allowed: [],
    sandboxed: false,
  })
  mkdirSync(join(root, 'sessions'))
  const says = (status: string) =>
    writeFileSync(join(root, 'sessions', `${pid}.json`), JSON.stringify({ sessionId: VENDOR, status }))
  says('busy')
  const session = await tmuxDriver({ run: root, socket, env }, driver).open({
    ...{ id: 's-000001', cwd: root, env, settingSources: [], resume: { vendorId: VENDOR, fork: false } },
    asks: { permission: async () => assert.fail(), question: async () => assert.fail() },
  } as unknown as OpenSession)
  before.push(async () => session[Symbol.asyncDispose]())
  for await (const { kind } of session.events) if (kind === 'started') break
  const press = async (key: string) =>
    void execFileSync('tmux', ['-S', tmux.socket, 'send-keys', '-t', pane, '-l', key], { stdio: 'pipe' })
  const keys = async (last: string) => {
    while (!readFileSync(file, 'utf8').endsWith(last)) await sleep(20)
    return readFileSync(file, 'utf8')
  }
  return { session, keys, press, says }
}

async function told(session: Session): Promise<string[]> {
  const kinds: string[] = []
  for await (const { kind } of session.events) kinds.push(kind)
  return kinds
}
