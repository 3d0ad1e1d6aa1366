import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queuedText } from '../../../src/cli/render/format.ts'
import { listTable } from '../../../src/cli/render/list-table.ts'
import { sessionPage, startHeader } from '../../../src/cli/render/session-page.ts'
import { summarise, summaryLines } from '../../../src/cli/render/summary.ts'
import { widthOf } from '../../../src/cli/render/text.ts'
import type { SessionView } from '../../../src/domain/api.ts'
import { decided, event, NOON, plain, queued, session } from './sample.ts'

test('the list is a table, with the resume time under a limited session', () => {
  const sessions = [
    session({ title: 'Build user authentication', task: 'With JWT.\nSee the plan.', activity: 'Bash sleep 20' }),
    session({ id: 's-def456', name: 'dark-mode', status: 'paused', title: 'Add a theme toggle' }),
    session({
      id: 's-0a1789',
      name: 'api-tests',
      status: 'rate_limited',
      title: 'Write integration tests',
      tokens: { context: 200_000, window: 200_000, input: 0, output: 0 },
      resumes_at: NOON + 5.5 * 3_600_000,
    }),
  ]
  assert.deepEqual(listTable(sessions, plain(110), NOON), [
    '┌──────────┬──────────────┬─────────┬────────────┬───────────────────────────┬───────────┬─────┐',
    '│ ID       │ Name         │ Project │ Status     │ Task                      │ Context   │ Age │',
    '├──────────┼──────────────┼─────────┼────────────┼───────────────────────────┼───────────┼─────┤',
    '│ s-abc123 │ auth-feature │ api     │ ● Running  │ Build user authentication │ 45K/200K  │ 0s  │',
    '│ s-def456 │ dark-mode    │ api     │ ⏸ Paused   │ Add a theme toggle        │ 45K/200K  │ 0s  │',
    '│ s-0a1789 │ api-tests    │ api     │ ⏳ Limited │ Write integration tests   │ 200K/200K │ 0s  │',
    '│          │              │         │            │ Resumes: 17:30            │           │     │',
    '└──────────┴──────────────┴─────────┴────────────┴───────────────────────────┴───────────┴─────┘',
  ])
})

test('without a terminal the list is plain columns', () => {
  const pipe = plain(Number.POSITIVE_INFINITY)
  assert.deepEqual(listTable([session({ title: 'Adding a theme toggle' })], pipe, NOON), [
    'ID        Name          Project  Status     Task                   Context   Age',
    's-abc123  auth-feature  api      ● Running  Adding a theme toggle  45K/200K  0s',
  ])
})

test('sessions of two projects of one name are told apart', () => {
  const sessions = ['/one/api', '/two/api', '/one/web'].map(project => session({ project }))
  const table = listTable(sessions, plain(120), NOON).join('\n')
  for (const shown of [/│ \/one\/api │/, /│ \/two\/api │/, /│ web +│/]) assert.match(table, shown)
})

test('a paused session that waits for a yes says how to give it', () => {
  const reason = 'waits for your yes to Bash rm -rf legacy: pcc respond 7 --approve --again'
  const held = listTable([session({ status: 'paused', reason })], plain(120), NOON).join('\n')
  assert.match(held, /Waits for your yes: pcc respond 7 --approve --again/)
})

test('a paused session says why, also when it goes on by itself', () => {
  const rows = (change: Parameters<typeof session>[0]) =>
    listTable([session({ status: 'paused', ...change })], plain(120), NOON).join('\n')
  const byTurns = rows({ reason: 'the turn limit was reached; go on with: pcc resume s-abc123' })
  assert.match(byTurns, /│ the turn limit was reached +│/)
  const again = rows({ reason: 'Not logged in\nLog in with: claude', resumes_at: NOON + 3_600_000 })
  assert.match(again, /│ Resumes: 13:00, Not logged in … +│/)
})

test('a model or a conversation id with line breaks writes no line of its own', () => {
  const name = 'one\nStatus: Completed'
  const page = sessionPage(session({ vendor_id: name, model: name }), {
    ...{ terminal: plain(80), now: NOON, cwd: '/', home: undefined },
  })
  assert.deepEqual(
    page.filter(line => line.includes('one')),
    ['Agent:       claude (one …)', 'Resume id:   one …'],
  )
  assert.ok(!page.some(line => line.startsWith('Status: Completed')))
})

test('where a table does not fit, each row is a few lines', () => {
  const waiting = session({ status: 'waiting_input', title: 'Asking which of the many possible ways is right' })
  assert.deepEqual(listTable([waiting], plain(40), NOON), [
    's-abc123',
    '  Name: auth-feature',
    '  Project: api',
    '  Status: ● Waiting',
    '  Task: Asking which of the many',
    '  possible ways is right',
    '  Context: 45K/200K',
    '  Age: 0s',
    '  pcc attach s-abc123',
  ])
})

test('a narrow terminal cuts the task and the name, never the id or the state', () => {
  const long = session({ name: 'a-name-that-goes-on-for-quite-a-while', title: 'x'.repeat(200) })
  const lines = listTable([long], plain(90), NOON)
  for (const line of lines) assert.ok(widthOf(line) <= 90, line)
  assert.match(lines.join('\n'), /s-abc123 .*● Running .*…/)
})

test('one long name does not take the space of every task', () => {
  const lines = listTable([session({ name: 'n'.repeat(80) }), session({ title: 'y'.repeat(39) })], plain(120), NOON)
  assert.match(lines.join('\n'), new RegExp(`│ ${'n'.repeat(23)}… │`))
  assert.match(lines.join('\n'), /y{39}/)
})

test('an unknown context is not shown as zero, and a session shows its task, not its last tool', () => {
  const unknown = { context: 0, window: 0, input: 0, output: 0 }
  const rows = (change: Parameters<typeof session>[0]) => listTable([session(change)], plain(120), NOON).join('\n')
  assert.match(rows({ tokens: unknown }), /│ – +│/)
  assert.match(rows({ tokens: { ...unknown, context: 13_000 } }), /│ 13K +│/)
  const page = (change: Parameters<typeof session>[0]) =>
    sessionPage(session(change), { terminal: plain(), now: NOON, cwd: '/', home: undefined }).join('\n')
  assert.match(page({ tokens: unknown }), /\nToken Usage: –\n/)
  assert.match(page({ tokens: { ...unknown, context: 13_000 } }), /\nToken Usage: 13,000 in context\n/)
  const denied = 'Bash rm -rf ..'
  for (const over of [
    { status: 'completed' as const, ended_at: NOON, activity: denied },
    { status: 'error' as const, ended_at: null, activity: denied },
  ]) {
    assert.match(rows(over), /│ Build user authentication │/)
    assert.match(page(over), /\nTask: Build user authentication\n/)
  }
})

test('a session that waits to begin says for what', () => {
  assert.equal(queuedText({ reason: 'waits for a free slot' }), 'queued, it waits for a free slot')
  const trial = 'waits until another session has tried the account (pcc quota)'
  assert.equal(queuedText({ reason: trial }), `queued, it ${trial}`)
})

test('a session that has not begun is shown as starting or queued', () => {
  const rows = (queued: boolean) => listTable([session({ status: 'idle', queued })], plain(120), NOON).join('\n')
  assert.match(rows(false), /○ Starting/)
  assert.match(rows(true), /○ Queued(.|\n)*│ Waits for a free slot/)
})

test('a limited session says when it goes on by itself, or how a person makes it', () => {
  const limited = session({
    status: 'rate_limited',
    reason: 'You have hit your limit',
    ended_at: NOON,
    resumes_at: NOON + 3_600_000,
  })
  const page = (shown: SessionView) => sessionPage(shown, { terminal: plain(), now: NOON, cwd: '/', home: undefined })
  const closing = (shown: SessionView) => summaryLines(shown, summarise([]), plain()).join('\n')
  assert.ok(page(limited).includes('Resumes:     by itself at 13:00'), page(limited).join('\n'))
  assert.doesNotMatch(page(limited).join('\n'), /Go on:/)
  const ahead = closing({ ...limited, resumes_at: Date.now() + 3_600_000 })
  assert.match(ahead, /\nStatus: {6}⏳ Limited\nResumes: {5}by itself at /)
  assert.doesNotMatch(ahead, /Go on:/)
  const held = { ...limited, reason: 'You have hit your limit; go on with: pcc resume s-abc123', resumes_at: null }
  assert.equal(
    page(held)
      .join('\n')
      .match(/pcc resume s-abc123/g)?.length,
    1,
    'said once, with the reason',
  )
  assert.match(closing(held), /\nGo on: {7}pcc resume s-abc123$/, 'the summary leaves the reason of a limit out')
})

test('a session that stands still shows once how to resume it; a completed one does not', () => {
  const page = (shown: Partial<SessionView>) =>
    sessionPage(session({ ended_at: NOON, ...shown }), { terminal: plain(), now: NOON, cwd: '/', home: undefined })
  for (const status of ['paused', 'stopped', 'error'] as const) {
    assert.ok(page({ status }).includes('Go on:       pcc resume s-abc123'), status)
    const withCommand = page({ status, reason: 'overloaded\nTry it again with: pcc retry s-abc123' })
    assert.doesNotMatch(withCommand.join('\n'), /Go on:/)
  }
  assert.doesNotMatch(page({ status: 'completed' }).join('\n'), /Go on:/)
})

test('a session that needs a person says how to answer it', () => {
  const asking = session({
    asks: [{ kind: 'permission', ask_id: 'a', tool: 'Bash', target: 'npm i', risk: 'MEDIUM', reason: 'r' }],
  })
  assert.match(listTable([asking], plain(120), NOON).join('\n'), /pcc attach s-abc123/)
  assert.match(listTable([asking], plain(80), NOON).join('\n'), /│ pcc attach s-abc123 │/, 'it is not cut')
  const page = sessionPage(asking, { terminal: plain(), now: NOON, cwd: '/', home: undefined }).join('\n')
  assert.match(page, /Needs you:\n {2}Bash → npm i \(MEDIUM risk: r\)\n {2}Answer with: pcc attach s-abc123/)
})

test('the page of a session shows all of its facts', () => {
  const shown = session({
    activity: 'Implementing JWT middleware',
    plan: [
      { text: 'Created src/auth/jwt.ts', state: 'done' },
      { text: 'Implementing refresh token logic', state: 'active' },
      { text: 'Writing tests', state: 'pending' },
    ],
    task_id: 't-000001',
    title: 'Build user authentication',
    queue: [
      queued({ id: 't-000001', title: 'Build user authentication', state: 'running' }),
      queued({ id: 't-000002', title: 'Add password reset endpoint' }),
      queued({ id: 't-000003', title: 'Implement rate limiting', state: 'blocked', after: ['t-000002'] }),
    ],
  })
  const now = NOON + (2 * 60 + 15) * 60_000
  assert.deepEqual(sessionPage(shown, { terminal: plain(), now, cwd: '/code', home: '/home/me' }), [
    'Session: s-abc123 (auth-feature)',
    '──────────────────────────────────────',
    'Project:     ./api',
    'Status:      ● Running',
    'Brain:       rules (asks you when unsure)',
    'Agent:       claude',
    'Started:     2026-01-13 12:00:00',
    'Duration:    2h 15m',
    '',
    'Current Task: Build user authentication',
    'Now: Implementing JWT middleware',
    'Progress:',
    '  ✓ Created src/auth/jwt.ts',
    '  → Implementing refresh token logic',
    '  ○ Writing tests',
    '',
    'Token Usage: 45,231 / 200,000 (22%)',
    'Tokens Spent: 1,000 in, 200 out',
    'Cost: $0.42 in 3 turns',
    'Questions Answered: 3 (2 auto, 1 human)',
    'Tools Approved: 47 (45 auto, 2 human)',
    '',
    'Task Queue:',
    '  1. Add password reset endpoint (t-000002)',
    '  2. Implement rate limiting (t-000003, after t-000002)',
  ])
})

test('the task queue fits the terminal, counts what it does not show, and says why a task cannot run', () => {
  const queue = Array.from({ length: 25 }, (_, index) =>
    queued({ id: `t-0000${index + 10}`, title: `${'long '.repeat(40)}` }),
  )
  queue[0] = queued({
    title: 'Deploy\x1b[2J',
    state: 'blocked',
    reason: 'comes after t-00000a (x), which failed',
    priority: 5,
  })
  const page = sessionPage(session({ queue }), { terminal: plain(60), now: NOON, cwd: '/', home: undefined })
  const lines = page.slice(page.indexOf('Task Queue:') + 1)
  assert.deepEqual(lines.slice(0, 2), [
    '  1. Deploy␛[2J (t-00000f, priority 5)',
    '     comes after t-00000a (x), which failed',
  ])
  assert.ok(
    lines.every(line => widthOf(line) <= 60),
    lines.join('\n'),
  )
  assert.deepEqual([lines.length, lines.at(-1)], [22, '  … and 5 more'])
})

test('a session that stopped in the middle of its queue names the task it will go on with', () => {
  const stopped = session({
    status: 'stopped',
    ended_at: NOON,
    title: 'The second',
    task_id: 't-00000b',
    queue: [
      queued({ id: 't-00000b', title: 'The second', state: 'waiting' }),
      queued({ id: 't-00000c', title: 'The third' }),
    ],
  })
  const page = sessionPage(stopped, { terminal: plain(), now: NOON, cwd: '/', home: undefined }).join('\n')
  assert.match(page, /\nTask: The second\n/)
  assert.match(page, /Task Queue:\n {2}1\. The third \(t-00000c\)$/)
})

test('the box of a new session is closed on every line, at any width', () => {
  for (const width of [40, 65, 120]) {
    const lines = startHeader(session({ name: '日本語の名前'.repeat(8) }), {
      terminal: plain(width),
      cwd: '/',
      home: undefined,
    })
    const box = lines.slice(0, -1)
    assert.ok(
      box.every(line => widthOf(line) === Math.min(width, 65)),
      box.join('\n'),
    )
    assert.match(box[0] ?? '', /^╭─ PerpetualCC Session: .*╮$/)
    assert.match(
      box.join('\n'),
      /│ Project: \/code\/api\s+│\n│ Brain: rules \(asks you when unsure\)\s+│\n│ Agent: claude\s+│\n│ Status: Running\s+│/,
    )
  }
})

test('the summary says what was done, decided and refused, and by whom', () => {
  const finished = (call_id: string, tool: string, target: string, ok = true) =>
    event('tool.finished', { call_id, tool, target, ok, output: '' })
  const summary = summarise([
    decided({ call_id: '1' }),
    finished('1', 'Write', 'src/x.ts'),
    decided({ call_id: '2', tool: 'Edit', target: 'src/y.ts' }),
    finished('2', 'Edit', 'src/y.ts'),
    decided({ call_id: '3', tool: 'Bash', target: 'npm test', by: 'human' }),
    finished('3', 'Bash', 'npm test', false),
    decided({ call_id: '4', tool: 'Bash', target: 'rm -rf ..', verdict: 'deny', by: 'human', reason: 'leave it' }),
    finished('4', 'Bash', 'rm -rf ..', false),
    event('question.answered', { call_id: '5', answers: { a: 'b', c: ['d', 'e'] }, by: 'human' }),
    event('question.answered', { call_id: '6', answers: {}, declined: 'nobody', by: 'nobody' }),
  ])
  const over = session({
    status: 'completed',
    ended_at: NOON + 12_300,
    tokens: { context: 0, window: 0, input: 12_345, output: 678 },
  })
  assert.deepEqual(summaryLines(over, summary, plain()), [
    '',
    'Summary of s-abc123 (auth-feature)',
    '──────────────────────────────────────',
    'Status:      ✓ Completed',
    'Done:        wrote src/x.ts',
    '             edited src/y.ts',
    '             ran npm test ✗',
    'Decided:     3 tools allowed (2 auto, 1 human), 2 questions answered',
    'Refused:     Bash → rm -rf .. ✗ by human',
    '              leave it',
    'Took:        12s',
    'Tokens:      12,345 in, 678 out',
    'Cost:        $0.42 in 3 turns',
  ])
})

test('only allowed calls count as done, and calls that were cut off are marked', () => {
  const finished = (call_id: string, tool: string, target: string, ok = true) =>
    event('tool.finished', { call_id, tool, target, ok, output: '' })
  const closing = (events: Parameters<typeof summarise>[0]) =>
    summaryLines(session({ status: 'error', ended_at: NOON }), summarise(events), plain())
  const unjudged = closing([finished('1', 'Bash', 'an input that was not valid', false)])
  assert.ok(unjudged.includes('Done:        nothing was written or run'), unjudged.join('\n'))
  assert.ok(unjudged.includes('Decided:     0 tools allowed (0 auto, 0 human)'))
  const killed = closing([decided({ call_id: '2', tool: 'Bash', target: 'sleep 20', by: 'human' })])
  assert.ok(killed.includes('Done:        began Bash → sleep 20, cut off before its result'), killed.join('\n'))
  assert.ok(killed.includes('Decided:     1 tool allowed (0 auto, 1 human)'))
})
