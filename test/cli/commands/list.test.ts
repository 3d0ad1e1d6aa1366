import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventOf, NewEvent, StoredEvent } from '../../../src/domain/event.ts'
import { pccFor } from '../pcc.ts'
import { seed } from '../seeded.ts'

const agentSaid = (subject: string, text: string): NewEvent => ({
  actor: 'agent',
  subject,
  kind: 'agent.said',
  body: { text },
})

const denied: NewEvent = {
  actor: 'daemon',
  subject: 's-aaaaaa',
  kind: 'permission.decided',
  body: {
    call_id: 'c1',
    tool: 'Bash',
    target: 'sudo reboot',
    verdict: 'deny',
    risk: 'HIGH',
    reason: 'nobody is attached',
    confidence: 1,
    by: 'nobody',
    latency_ms: 1,
  },
}

test('sessions are listed, filtered and shown alike by the fast path and by commander', async t => {
  const pcc = pccFor(t)
  await seed(
    pcc,
    [
      { id: 's-aaaaaa', name: 'first' },
      { id: 's-aabbbb', name: 'second', ended_as: 'error', status_reason: 'it broke', project: '/nowhere/other' },
      // Its daemon died before it carried out the pause that a person had asked for.
      { id: 's-cccccc', name: 'third', state: 'running', ended_as: null, ended_at: null, intent: 'pause' },
    ],
    [agentSaid('s-aaaaaa', 'Hello from the agent'), denied],
  )
  const long = await pcc.run(['list', '--all', '--all'])
  const short = await pcc.run(['list', '--all'])
  assert.equal(long.code, 0, long.stderr)
  assert.equal(short.stdout, long.stdout)
  assert.match(short.stdout, /^s-aaaaaa {2}first +project +✓ Completed {2}Build it +45K\/200K +\d+d$/m)
  assert.match(short.stdout, /^s-cccccc {2}third +project +⏸ Paused/m)
  const open = await pcc.run(['list'])
  assert.match(open.stdout, /^ID .*\ns-cccccc .*\n +paused by a person\n2 ended: pcc list --all\n$/)

  const failed = await pcc.run(['list', '--status', 'error,paused', '--json'])
  const { sessions } = JSON.parse(failed.stdout) as { sessions: { id: string; reason: string }[] }
  assert.deepEqual(sessions.map(({ id }) => id).sort(), ['s-aabbbb', 's-cccccc'])
  assert.match(
    sessions.find(({ id }) => id === 's-cccccc')?.reason ?? '',
    /paused by a person; go on with: pcc resume s-cccccc/,
  )
  const ofOther = await pcc.run(['list', '--project', '/nowhere/other', '--json'])
  assert.equal((JSON.parse(ofOther.stdout) as { sessions: unknown[] }).sessions.length, 1)
  const none = await pcc.run(['list', '--status', 'stopped'])
  assert.match(none.stdout, /No session matches/)

  const page = await pcc.run(['status', 'aaaaa', '--show-history', '--show-decisions'])
  assert.match(page.stdout, /^Session: s-aaaaaa \(first\)\n─+\nProject: /)
  assert.match(page.stdout, /Decisions:\n\[.*\] ✗ denied {2}HIGH {3}Bash → sudo reboot\n +by nobody/)
  assert.match(page.stdout, /History:\n\[.*\] Claude: Hello from the agent/)
  const json = JSON.parse((await pcc.run(['status', 'first', '--json', '--show-decisions'])).stdout)
  assert.deepEqual([json.id, json.status, json.decisions.length], ['s-aaaaaa', 'completed', 1])
})

test('an unknown or ambiguous session is refused with what to do', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{ id: 's-aaaaaa' }, { id: 's-aabbbb', name: 'second' }])
  for (const command of ['status', 'attach', 'logs', 'pause', 'resume', 'retry', 'stop']) {
    const unknown = await pcc.run([command, 'zzz'])
    assert.equal(unknown.code, 2, command)
    assert.equal(unknown.stderr, 'error: There is no session "zzz".\n  next: See all sessions with: pcc list\n')
    const ambiguous = await pcc.run([command, 'aa', '--json'])
    assert.equal(ambiguous.code, 2, command)
    assert.equal(ambiguous.stdout, '')
    const { error } = JSON.parse(ambiguous.stderr) as { error: { code: string; message: string; next: string } }
    assert.equal(error.code, 'session_ambiguous')
    assert.match(error.message, /s-aaaaaa/)
  }
  const over = await pcc.run(['stop', 's-aaaaaa'])
  assert.equal(over.code, 2)
  assert.match(over.stderr, /Session s-aaaaaa is over: nothing is left in its queue/)
  assert.match(over.stderr, /next: Give it a new task with: pcc add s-aaaaaa "…"\n$/)
})

test('attaching to an ended session shows its last events and its summary, and exits with the code of its end', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{ ended_as: 'stopped' }], [agentSaid('s-aaaaaa', 'Last words'), denied])
  const { code, stdout } = await pcc.run(['attach', 'first'])
  assert.equal(code, 130)
  assert.match(stdout, /^Attached to session s-aaaaaa \(first\)\n─+\n/)
  assert.match(stdout, /Claude: Last words/)
  assert.match(stdout, /Refused:\s+Bash → sudo reboot ✗ by nobody\n\s+nobody is attached/)
  assert.match(stdout, /Go on:\s+pcc resume s-aaaaaa/)
})

test('the log of a session whose daemon died ends with its outcome', async t => {
  const pcc = pccFor(t)
  const died = { state: 'running', ended_as: null, ended_at: null, intent: 'pause' } as const
  await seed(pcc, [died], [agentSaid('s-aaaaaa', 'Last words')])
  const interrupted =
    /Claude: Last words\n\[.*\] Session paused\. paused by a person; go on with: pcc resume s-aaaaaa\n$/
  assert.match((await pcc.run(['logs', 'first'])).stdout, interrupted)
  assert.match((await pcc.run(['logs', 'first', '--follow'])).stdout, interrupted)
  const attached = (await pcc.run(['attach', 'first'])).stdout
  assert.match(
    attached,
    /Last words\n\[.*\] Session paused\.\n(.|\n)*Status: +⏸ Paused: paused by a person; go on with/,
  )
  assert.equal(attached.match(/pcc resume s-aaaaaa/g)?.length, 1, 'shown once')
})

test('logs show the last entries of a level and above', async t => {
  const pcc = pccFor(t)
  const many = Array.from({ length: 60 }, (_, index) => agentSaid('s-aaaaaa', `line ${index + 1}`))
  await seed(pcc, [{}], [denied, ...many])
  const standard = (await pcc.run(['logs', 'first'])).stdout.trimEnd().split('\n')
  assert.equal(standard.length, 50)
  assert.match(standard.at(-1) ?? '', /line 60$/)
  const three = (await pcc.run(['logs', 'first', '--tail', '3', '--json'])).stdout.trimEnd().split('\n')
  const events = three.map(line => JSON.parse(line) as StoredEvent) as EventOf<'agent.said'>[]
  assert.deepEqual(
    events.map(({ body }) => body.text),
    ['line 58', 'line 59', 'line 60'],
  )
  const warnings = (await pcc.run(['logs', 'first', '--level', 'warn', '-f'])).stdout
  assert.match(warnings, /sudo reboot ✗/)
  assert.doesNotMatch(warnings, /line/)
  const wrong = await pcc.run(['logs', 'first', '--level', 'loud'])
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /Allowed choices are debug, info, warn, error/)
})
