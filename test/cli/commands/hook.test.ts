import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type HookReply, openSessionServer } from '../../../src/agents/own-tools-server.ts'
import { BIN } from '../../support/program.ts'
import { bareEnv, COMPILED, tempDir } from '../../support/world.ts'

const TOKEN = 'a-token-that-is-long-enough-for-this-session'
const CALL = {
  tool_name: 'Bash',
  tool_use_id: 'c1',
  tool_input: { command: 'ls' },
  cwd: '/p',
  hook_event_name: 'PreToolUse',
}

test('the daemon judges a call, and its reply is printed as it is', async t => {
  const reply = { hookSpecificOutput: { permissionDecision: 'ask' } }
  const { seat, received } = await daemonThat(t, async () => reply)
  const { code, out } = await hook(['claude', 'PreToolUse', '--seat', seat], { ...CALL, tool_response: 'x'.repeat(99) })
  assert.equal(code, 0)
  assert.deepEqual(JSON.parse(out), reply)
  assert.deepEqual(received, [['PreToolUse', CALL]], 'what the daemon need not know is left out')
})

test('an event without a decision is reported, and nothing is printed', async t => {
  const { seat, received } = await daemonThat(t, async () => undefined)
  assert.deepEqual(await hook(['claude', 'Stop', '--seat', seat], { last_assistant_message: 'ok' }), {
    code: 0,
    out: '',
    err: '',
  })
  assert.deepEqual(received, [['Stop', { last_assistant_message: 'ok' }]])
})

test('without a daemon a call is refused, with what a person can do, and recorded; other events are dropped', async t => {
  const seat = seatIn(tempDir(t), { socket: '/nowhere/pcc.sock' })
  const refused = await hook(['claude', 'PreToolUse', '--seat', seat], CALL)
  assert.equal(refused.code, 0)
  const output = JSON.parse(refused.out).hookSpecificOutput
  assert.equal(output.permissionDecision, 'deny')
  assert.match(output.permissionDecisionReason, /daemon of pcc is away.*pcc daemon start/)
  const asked = await hook(['claude', 'PermissionRequest', '--seat', seat], CALL)
  assert.equal(JSON.parse(asked.out).hookSpecificOutput.decision.behavior, 'deny')
  assert.deepEqual(await hook(['claude', 'Stop', '--seat', seat], {}), { code: 0, out: '', err: '' })
  assert.equal(readFileSync(join(seat, 'refusals/refused'), 'utf8'), 'PreToolUse\nPermissionRequest\n')
})

test('a daemon that comes back while a call waits for it decides about it', async t => {
  const dir = tempDir(t)
  const seat = seatIn(dir, { socket: join(dir, 'pcc.sock'), away_ms: 60_000 })
  const asked = hook(['claude', 'PreToolUse', '--seat', seat], CALL)
  await daemonThat(t, async () => ({ hookSpecificOutput: { permissionDecision: 'ask' } }), dir)
  assert.equal(JSON.parse((await asked).out).hookSpecificOutput.permissionDecision, 'ask')
  assert.equal(existsSync(join(seat, 'refusals/refused')), false)
})

test('a wrong token and a daemon that fails are refusals', async t => {
  const { seat, dir } = await daemonThat(t, async () => {
    throw new Error('broken')
  })
  const broken = await hook(['claude', 'PreToolUse', '--seat', seat], CALL)
  assert.match(broken.out, /"deny".*could not decide \(500\)/)
  const stranger = seatIn(tempDir(t), { socket: join(dir, 'pcc.sock'), token: TOKEN.toUpperCase() })
  assert.match((await hook(['claude', 'PreToolUse', '--seat', stranger], CALL)).out, /"deny".*could not decide \(401\)/)
})

test('a daemon that says nothing, or nothing that decides, has not allowed the call', async t => {
  for (const nothing of [undefined, {}, { hookSpecificOutput: {} }]) {
    const { seat } = await daemonThat(t, async () => nothing)
    assert.match((await hook(['claude', 'PreToolUse', '--seat', seat], CALL)).out, /"deny".*did not decide/)
    assert.match((await hook(['claude', 'ConfigChange', '--seat', seat], {})).out, /"block".*did not decide/)
  }
  const { seat } = await daemonThat(t, async () => undefined)
  assert.equal((await hook(['claude', 'PermissionRequest', '--seat', seat], CALL)).out, '', 'the person is asked')
})

test('a call that cannot be judged is refused: its folder is gone, it is not JSON, or it has more than 4 MB', async t => {
  const { seat, received } = await daemonThat(t, async () => undefined)
  assert.match((await hook(['claude', 'PreToolUse', '--seat', `${seat}/gone`], CALL)).out, /"deny".*pcc resume/)
  assert.match((await hook(['claude', 'PreToolUse', '--seat', seat], 'no json')).out, /"deny"/)
  const big = { ...CALL, tool_input: { content: 'x'.repeat(4_000_001) } }
  assert.match((await hook(['claude', 'PreToolUse', '--seat', seat], big)).out, /"deny".*too large/)
  assert.deepEqual(received, [])
})

test('wrong arguments print the usage and refuse the call', async () => {
  for (const words of [
    [],
    ['claude'],
    ['gemini', 'PreToolUse', '--seat', '/x'],
    ['claude', 'PreToolUse', '--seat', '/x', 'more'],
  ]) {
    const { code, out, err } = await hook(words, CALL)
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, /pcc hook claude <event>/)
  }
})

/** The socket of one session. */
async function daemonThat(t: TestContext, says: () => Promise<HookReply>, dir = tempDir(t)) {
  const received: unknown[] = []
  const endpoint = { socket: join(dir, 'pcc.sock'), token: TOKEN }
  const server = await openSessionServer(endpoint, {
    hook: async ({ event, input }) => {
      received.push([event, input])
      return says()
    },
  })
  t.after(() => server[Symbol.asyncDispose]())
  return { received, dir, seat: seatIn(dir, { socket: join(dir, 'pcc.sock') }) }
}

function seatIn(dir: string, more: Record<string, unknown>): string {
  mkdirSync(join(dir, 'refusals'), { recursive: true })
  writeFileSync(join(dir, 'seat.json'), JSON.stringify({ session: 's-000001', token: TOKEN, away_ms: 100, ...more }))
  return dir
}

async function hook(words: string[], input: unknown): Promise<{ code: number; out: string; err: string }> {
  const child = spawn(process.execPath, [BIN, 'hook', ...words], { env: { ...bareEnv('/nonexistent'), ...COMPILED } })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', text => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    err += text
  })
  child.stdin.on('error', () => undefined)
  child.stdin.end(typeof input === 'string' ? input : JSON.stringify(input))
  const [code] = (await once(child, 'close')) as [number]
  return { code, out, err }
}
