import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Board,
  type BoardAction,
  type BoardKey,
  boardFrame,
  openBoard,
  pressBoardKey,
} from '../../../../src/cli/commands/run/board.ts'
import { NOTHING_MORE } from '../../../../src/domain/needs.ts'
import { NOW, overAttempt, plainTerminal, someAttempt, someRun } from './some-run.ts'

const CTRL_C: Partial<BoardKey> = { name: 'interrupt' }
const ENTER: Partial<BoardKey> = { name: 'return' }
const ESCAPE: Partial<BoardKey> = { name: 'escape' }

/** The board after some keys, a tenth of a second apart, and the last action. */
function pressKeys(
  board: Board,
  ...keys: (string | Partial<BoardKey>)[]
): { board: Board; action: BoardAction | undefined } {
  let [current, action, at]: [Board, BoardAction | undefined, number] = [board, undefined, NOW]
  for (const key of keys) {
    at += 100
    const typed: BoardKey =
      typeof key === 'string' ? { name: 'text', text: key, at } : { name: 'text', text: '', at, ...key }
    at = typed.at
    const pressed = pressBoardKey(current, typed)
    current = pressed.board
    action = pressed.action
  }
  return { board: current, action }
}

const CASES: [string, (string | Partial<BoardKey>)[], BoardAction | undefined, Board['mode']][] = [
  ['Q detaches', ['q'], { do: 'leave' }, 'watch'],
  ['A goes to the inbox', ['a'], { do: 'answer' }, 'watch'],
  ['other letters do nothing', ['s'], undefined, 'watch'],
  ['the first Ctrl+C opens the menu', [CTRL_C], undefined, 'menu'],
  ['Esc goes back', [CTRL_C, ESCAPE], undefined, 'watch'],
  ['D detaches', [CTRL_C, 'd'], { do: 'leave' }, 'watch'],
  ['S stops after the task at work', [CTRL_C, 's'], { do: 'stop', now: false }, 'watch'],
  ['N stops now', [CTRL_C, 'N'], { do: 'stop', now: true }, 'watch'],
  ['a second Ctrl+C within two seconds stops now', [CTRL_C, CTRL_C], { do: 'stop', now: true }, 'watch'],
  ['also while one types', [CTRL_C, 'g', 'a', CTRL_C], { do: 'stop', now: true }, 'watch'],
  ['a later one only opens the menu again', [CTRL_C, { name: 'interrupt', at: NOW + 2_200 }], undefined, 'menu'],
  ['G begins guidance', [CTRL_C, 'g'], undefined, 'guide'],
  [
    'an empty line ends it',
    [CTRL_C, 'g', 'go', ENTER, 'on', ENTER, ENTER],
    { do: 'guide', task: 't-000001', text: 'go\non' },
    'watch',
  ],
  ['Ctrl+D ends it too', [CTRL_C, 'g', 'go', { name: 'end' }], { do: 'guide', task: 't-000001', text: 'go' }, 'watch'],
  ['without text nothing is sent', [CTRL_C, 'g', ENTER], undefined, 'watch'],
  ['Esc discards the text', [CTRL_C, 'g', 'go', ESCAPE], undefined, 'menu'],
  [
    'Backspace removes the last letter',
    [CTRL_C, 'g', 'gox', { name: 'backspace' }, { name: 'end' }],
    { do: 'guide', task: 't-000001', text: 'go' },
    'watch',
  ],
]

test('each key of the board has its effect', () => {
  for (const [what, keys, action, mode] of CASES) {
    const reached = pressKeys(openBoard(someRun()), ...keys)
    assert.deepEqual([reached.action, reached.board.mode], [action, mode], what)
  }
})

test('with several open tasks the person picks one for guidance; with none there is a notice', () => {
  const two = [someAttempt(), someAttempt({ task_id: 't-000002', iteration: 2 })]
  const picked = pressKeys(openBoard(someRun({ attempts: two })), CTRL_C, 'g', '9', '2', 'go', { name: 'end' })
  assert.deepEqual(picked.action, { do: 'guide', task: 't-000002', text: 'go' })
  const none = pressKeys(openBoard(someRun({ attempts: [overAttempt('done')] })), CTRL_C, 'g')
  assert.deepEqual([none.board.mode, none.board.notice], ['watch', 'No task is at work that could get guidance'])
})

test('the board shows what is at work with its last line, what was done, the counts, cost, quota and time left', () => {
  const run = someRun({
    limit: 9,
    iterations: 3,
    tasks: { done: 1, failed: 1, waiting: 1, running: 1, blocked: 2 },
    unverified: 1,
    quota: { level: 'warning', window: 'five_hour', utilization: 0.62, source: 'vendor' },
    left_ms: 240_000,
    needs: [{ ...NOTHING_MORE, key: 'decision:4', kind: 'question', text: 'Where?', next: 'pcc respond 4', since: 0 }],
    attempts: [
      overAttempt('done', { task_id: 't-00000a', title: 'buy a spade' }),
      overAttempt('failed', { task_id: 't-00000b', title: 'ask the neighbour', reason: 'he is out\nfor long' }),
      someAttempt({
        ...{ task_id: 't-00000c', title: 'choose a place', iteration: 3 },
        now: { status: 'waiting_input', last_line: 'Where?', resumes_at: null, decision: 4, landing: null },
      }),
      someAttempt({ iteration: 4, number: 2 }),
    ],
  })
  const lines = boardFrame(openBoard(run), { terminal: plainTerminal(), height: 20, now: NOW })
  assert.equal(lines.length, 20)
  assert.deepEqual(lines.filter(Boolean), [
    'Run r-aaaaaa: the whole project  ● running',
    '██████████░░░░░░░░░░░░░░░░░░░░ 1 done (unverified), 1 failed, 1 waiting, 3 left',
    '$0.50 · 62% of the 5-hour window (warning) · about 4m 0s left · attempt 3 of 9 · 1m 40s',
    '▶ t-00000c choose a place (sonnet, s-000001)  1m 1s',
    '    waits for you: pcc respond 4',
    '▶ t-000001 dig the ground (attempt 2, sonnet, s-000001)  1m 1s',
    '    Bash make',
    '✓ t-00000a buy a spade done (unverified) in 1m 0s, $0.25',
    '✗ t-00000b ask the neighbour failed after 1m 0s, $0.25: he is out …',
    '─'.repeat(99),
    '[A] Answer what waits  [Q] Detach, it goes on  [Ctrl+C] Menu',
  ])
})

test('in a narrow terminal a key and what it does stay together, and none is cut off', () => {
  const login = { ...NOTHING_MORE, key: 'account:1', kind: 'login', text: 'not logged in', next: '', since: 0 } as const
  const run = someRun({ needs: [login] })
  const view = { terminal: plainTerminal(40), height: 20, now: NOW }
  assert.deepEqual(boardFrame(openBoard(run), view).slice(-2), [
    '[A] Answer what waits',
    '[Q] Detach, it goes on  [Ctrl+C] Menu',
  ])
  assert.deepEqual(boardFrame(pressKeys(openBoard(run), CTRL_C).board, view).slice(-4), [
    '[D]etach, it goes on',
    '[G]uidance to the task',
    '[S]top after this task  stop [N]ow',
    '[Esc] Back  (Ctrl+C again: stop now)',
  ])
})

test('finished work that waits for a person is counted as waiting', () => {
  const run = someRun({ tasks: { done: 4, verifying: 2, merging: 1, blocked: 1 }, held: 2 })
  const [, counts] = boardFrame(openBoard(run), { terminal: plainTerminal(), height: 20, now: NOW })
  assert.match(counts ?? '', / 4 done, 2 waiting, 2 left$/)
})

test('the board shows our own count as tokens, not as a share that would look like a limit', () => {
  const quota = { level: 'unknown', window: 'hour', utilization: 6.68, source: 'estimate', tokens: 668_000 } as const
  const run = someRun({ quota })
  const lines = boardFrame(openBoard(run), { terminal: plainTerminal(100), height: 20, now: NOW }).join('\n')
  assert.match(lines, / · 668K tokens in the last hour/)
  assert.doesNotMatch(lines, /window|%|quota/)
})

test('the board of a paused run does not promise that it goes on', () => {
  const keys = (state: 'running' | 'paused') =>
    boardFrame(openBoard(someRun({ state })), { terminal: plainTerminal(), height: 20, now: NOW }).join('\n')
  assert.match(keys('running'), /\[Q\] Detach, it goes on/)
  assert.match(keys('paused'), /\[Q\] Leave it paused/)
  assert.match(keys('paused'), /^Go on with: pcc resume r-\w+$/m)
})

test('a session that was paused with its run does not name a command of its own', () => {
  const now = { status: 'paused', resumes_at: null, last_line: null, decision: null, landing: null } as const
  const why = 'paused by a person; go on with: pcc resume s-1'
  const lines = (state: 'running' | 'paused') =>
    boardFrame(openBoard(someRun({ state, attempts: [someAttempt({ now: { ...now, why } })] })), {
      ...{ terminal: plainTerminal(), height: 20, now: NOW },
    }).join('\n')
  assert.match(lines('running'), /pcc resume s-1/)
  assert.doesNotMatch(lines('paused'), /pcc resume s-1/)
})

test('the board does not announce the next task while something is in its way', () => {
  const frame = (reason: string | null) =>
    boardFrame(openBoard(someRun({ attempts: [], reason })), { terminal: plainTerminal(), height: 20, now: NOW }).join(
      '\n',
    )
  assert.match(frame(null), /The next task begins…/)
  assert.match(frame('no branch is checked out'), /cannot begin yet: no branch[\s\S]*No task is at work\./)
  assert.doesNotMatch(frame('no branch is checked out'), /The next task begins/)
})

test('what a task waits for ends with what to type, which the board does not cut', () => {
  const why =
    'The login was refused (authentication_failed).\nexport ANTHROPIC_API_KEY=<new key> && pcc resume r-363a14 --detach'
  const now = {
    status: 'paused',
    why,
    resumes_at: NOW + 60_000,
    last_line: null,
    decision: null,
    landing: null,
  } as const
  const board = openBoard(someRun({ attempts: [someAttempt({ now })] }))
  const lines = boardFrame(board, { terminal: plainTerminal(80), height: 20, now: NOW })
  assert.match(
    lines.map(line => line.trim()).join(' '),
    /export ANTHROPIC_API_KEY=<new key> && pcc resume r-363a14 --detach/,
  )
  assert.ok(lines.every(line => line.length < 80))
})

test('the board never has more lines than the screen, and always shows the keys', () => {
  const many = Array.from({ length: 60 }, (_, at) => overAttempt('done', { iteration: at + 1 }))
  for (const [width, height] of [
    [20, 4],
    [40, 8],
    [200, 50],
  ] as const) {
    const board = {
      ...openBoard(someRun({ attempts: [...many, someAttempt({ iteration: 99 })] })),
      mode: 'menu' as const,
    }
    const lines = boardFrame(board, { terminal: plainTerminal(width), height, now: NOW })
    assert.ok(lines.length <= height, `${lines.length} lines of ${height}`)
    assert.match(lines.join(' '), /stop now\)/)
  }
})

test('text that would move the cursor is made safe to print', () => {
  const attempt = someAttempt({
    title: 'dig\x1b[2J',
    now: { status: 'processing', last_line: 'a\x1b[31mb', resumes_at: null, decision: null, landing: null },
  })
  const board = openBoard(someRun({ attempts: [attempt], target: { kind: 'feature', name: 'x\x1b]0;y\x07' } }))
  assert.doesNotMatch(boardFrame(board, { terminal: plainTerminal(), height: 20, now: NOW }).join('\n'), /\x1b/)
})

test('the board offers to answer while something waits for the person', () => {
  const view = { terminal: plainTerminal(), height: 20, now: NOW }
  const login = { ...NOTHING_MORE, key: 'account:1', kind: 'login', text: 'not logged in', next: '', since: 0 } as const
  assert.doesNotMatch(boardFrame(openBoard(someRun()), view).join('\n'), /\[A\] Answer/)
  const held = openBoard(someRun({ needs: [login] }))
  assert.match(boardFrame(held, view).join('\n'), /\[A\] Answer what waits {2}\[Q\] Detach/)
})
