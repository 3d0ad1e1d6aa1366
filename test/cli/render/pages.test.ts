import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHeader } from '../../../src/cli/render/header.ts'
import { listTable } from '../../../src/cli/render/list-table.ts'
import { sessionPage } from '../../../src/cli/render/session-page.ts'
import { summaryLines, summaryOf } from '../../../src/cli/render/summary.ts'
import { widthOf } from '../../../src/cli/render/text.ts'
import { decided, event, NOON, plain, session } from './sample.ts'

test('the list looks as in the manual, with the time of waking under a limited session', () => {
  const sessions = [
    session({ activity: 'Implementing JWT middleware' }),
    session({ id: 's-def456', name: 'dark-mode', status: 'paused', activity: 'Adding theme toggle' }),
    session({
      id: 's-0a1789',
      name: 'api-tests',
      status: 'rate_limited',
      activity: 'Writing integration tests',
      tokens: { context: 200_000, window: 200_000, input: 0, output: 0 },
      resumes_at: NOON + 5.5 * 3_600_000,
    }),
  ]
  assert.deepEqual(listTable(sessions, plain(100), NOON), [
    '┌──────────┬──────────────┬────────────┬─────────────────────────────┬───────────┐',
    '│ ID       │ Name         │ Status     │ Current Task                │ Tokens    │',
    '├──────────┼──────────────┼────────────┼─────────────────────────────┼───────────┤',
    '│ s-abc123 │ auth-feature │ ● Running  │ Implementing JWT middleware │ 45K/200K  │',
    '│ s-def456 │ dark-mode    │ ⏸ Paused   │ Adding theme toggle         │ 45K/200K  │',
    '│ s-0a1789 │ api-tests    │ ⏳ Limited │ Writing integration tests   │ 200K/200K │',
    '│          │              │            │ Resumes: 17:30              │           │',
    '└──────────┴──────────────┴────────────┴─────────────────────────────┴───────────┘',
  ])
})

test('a narrow terminal cuts the task and the name, never the id or the state', () => {
  const long = session({ name: 'a-name-that-goes-on-for-quite-a-while', activity: 'x'.repeat(200) })
  const lines = listTable([long], plain(70), NOON)
  for (const line of lines) assert.ok(widthOf(line) <= 70, line)
  assert.match(lines.join('\n'), /s-abc123 .*● Running .*…/)
})

test('a session that needs somebody says how to answer it', () => {
  const asking = session({
    asks: [{ kind: 'permission', ask_id: 'a', tool: 'Bash', target: 'npm i', risk: 'MEDIUM', reason: 'r' }],
  })
  assert.match(listTable([asking], plain(120), NOON).join('\n'), /Needs you: pcc attach s-abc123/)
  const page = sessionPage(asking, { terminal: plain(), now: NOON, cwd: '/', home: undefined }).join('\n')
  assert.match(page, /Needs you:\n {2}Bash → npm i \(MEDIUM risk: r\)\n {2}Answer with: pcc attach s-abc123/)
})

test('the page of a session looks as in the manual', () => {
  const shown = session({
    activity: 'Implementing JWT middleware',
    plan: [
      { text: 'Created src/auth/jwt.ts', state: 'done' },
      { text: 'Implementing refresh token logic', state: 'active' },
      { text: 'Writing tests', state: 'pending' },
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
    'Current Task: Implementing JWT middleware',
    'Progress:',
    '  ✓ Created src/auth/jwt.ts',
    '  → Implementing refresh token logic',
    '  ○ Writing tests',
    '',
    'Token Usage: 45,231 / 200,000 (23%)',
    'Cost: $0.42 in 3 turns',
    'Questions Answered: 3 (2 auto, 1 human)',
    'Tools Approved: 47 (45 auto, 2 human)',
  ])
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
  const summary = summaryOf([
    decided({ call_id: '1' }),
    finished('1', 'Write', 'src/x.ts'),
    decided({ call_id: '2', tool: 'Edit', target: 'src/y.ts' }),
    finished('2', 'Edit', 'src/y.ts'),
    decided({ call_id: '3', tool: 'Bash', target: 'npm test', by: 'human' }),
    finished('3', 'Bash', 'npm test', false),
    decided({ call_id: '4', tool: 'Bash', target: 'rm -rf ..', verdict: 'deny', by: 'human', reason: 'leave it' }),
    finished('4', 'Bash', 'rm -rf ..', false),
    event('question.answered', { call_id: '5', answers: { a: 'b' }, by: 'human' }),
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
    'Decided:     3 tools allowed (2 auto, 1 human), 1 question answered',
    'Refused:     Bash → rm -rf .. ✗ by human',
    '              leave it',
    'Took:        12s',
    'Tokens:      12,345 in, 678 out',
    'Cost:        $0.42 in 3 turns',
  ])
})
