import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../../../src/domain/event.ts'
import { onTerminal } from '../../e2e/pty.ts'
import { recordRefused } from '../commands/inbox/waiting.ts'
import { type Pcc, pccFor } from '../pcc.ts'
import { seed } from '../seeded.ts'

const HOUR = 3_600_000

/** Seeds a session that hit a limit, with or without a time at which it goes on by itself. */
async function seedLimited(pcc: Pcc, goesOn: boolean): Promise<void> {
  const resumes_at = Date.now() + 2 * HOUR
  const ended: NewEvent = {
    actor: 'daemon',
    subject: 's-aaaaaa',
    kind: 'session.ended',
    body: { status: 'rate_limited', reason: 'You have hit your limit', ...(goesOn && { resumes_at }) },
  }
  const row = { ended_as: 'rate_limited', ended_at: Date.now(), resumes_at: goesOn ? resumes_at : null } as const
  await seed(pcc, [row], [ended])
}

test('a person who attaches to a session that waits for a reset sees the time tick, and leaves without stopping it', async t => {
  const pcc = pccFor(t)
  await seedLimited(pcc, true)
  const terminal = onTerminal(t, pcc, ['attach', 'first'])
  await terminal.see(/Session waits for the limit to reset\. Goes on by itself at /)
  const [, first = ''] = await terminal.see(/\nResuming in (1:59:\d\d)/)
  const [, second = ''] = await terminal.see(/\nResuming in (1:59:\d\d)/)
  assert.ok(first > second, `${first} then ${second}`)
  terminal.type('\x03')
  await terminal.see(/Detached; session goes on/)
  assert.equal(await terminal.exit, 130)
  assert.match((await pcc.run(['quota', 'hold', 'first'])).stdout, /^Held/)
})

test('a limited session that does not go on by itself is shown with its end, with exit code 4', async t => {
  const pcc = pccFor(t)
  await seedLimited(pcc, false)
  const { code, stdout } = await pcc.run(['attach', 'first'])
  assert.equal(code, 4)
  assert.match(stdout, /Session stopped by a limit\./)
  assert.doesNotMatch(stdout, /Resuming in/)
})

test('a stop from elsewhere ends the waiting view', async t => {
  const pcc = pccFor(t)
  await seedLimited(pcc, true)
  const terminal = onTerminal(t, pcc, ['attach', 'first'])
  await terminal.see(/\nResuming in 1:59:\d\d/)
  const { code, stderr } = await pcc.run(['stop', 'first'])
  assert.equal(code, 0, stderr)
  await terminal.see(/Session stopped\./)
  assert.equal(await terminal.exit, 130)
})

test('a person who attaches to a parked session is asked, and not told that nobody is attached', async t => {
  const pcc = pccFor(t)
  const call = { call_id: 'c', tool: 'Bash', target: 'rm -rf build' }
  const asked = { ...call, ask_id: 'a', risk: 'HIGH' as const, reason: 'rm deletes', number: 5 }
  const by = { actor: 'daemon', subject: 's-aaaaaa' }
  const events: NewEvent[] = [
    { ...by, kind: 'tool.requested', body: { ...call, input: { command: 'rm -rf build' } } },
    { ...by, kind: 'permission.parked', body: asked },
    { ...by, kind: 'session.ended', body: { status: 'waiting_input', reason: 'waits for a person' } },
  ]
  await seed(pcc, [{ ended_as: 'waiting_input', parked: { ...asked, digest: 'd' } }], events)
  await recordRefused(pcc, [{ state: 'open', session_id: 's-aaaaaa' }])
  const shown = (await pcc.run(['attach', 'first'])).stdout
  assert.match(shown, /nobody is attached to approve it; it waits/)
  const terminal = onTerminal(t, pcc, ['attach', 'first'])
  const [before = ''] = await terminal.see(/^(.|\n)*\[n\]/)
  assert.match(before, /rm -rf build/)
  assert.doesNotMatch(before, /nobody is attached|pcc respond/)
  terminal.type('\x03')
  await terminal.see(/Detached; session waits for your answer\. Give it with: pcc respond 1/)
  assert.equal(await terminal.exit, 3)
})
