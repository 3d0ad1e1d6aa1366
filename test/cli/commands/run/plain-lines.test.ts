import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLines, runNews, runPage, runSummaryLines } from '../../../../src/cli/commands/run/lines.ts'
import { runPlanLines } from '../../../../src/cli/commands/run/start-run.ts'
import { taskLines } from '../../../../src/cli/commands/task/lines.ts'
import { NOTHING_MORE } from '../../../../src/domain/needs.ts'
import type { RunPlan } from '../../../../src/domain/run.ts'
import type { TaskView } from '../../../../src/domain/task.ts'
import { NOW, overAttempt, plainTerminal, someAttempt, someRun } from './some-run.ts'

const TERMINAL = plainTerminal()

test('each change is shown once, line by line, also an attempt that began and ended between two polls', () => {
  const first = someRun()
  assert.deepEqual(runNews(undefined, first, TERMINAL), ['▶ t-000001 dig the ground (sonnet, s-000001)'])
  assert.deepEqual(runNews(first, first, TERMINAL), [])
  const waits = { status: 'waiting_input', last_line: null, resumes_at: null, decision: 7, landing: null } as const
  const second = someRun({
    attempts: [
      overAttempt('failed', { reason: 'no spade\nat all' }),
      overAttempt('done', { task_id: 't-000002', title: 'buy a spade', iteration: 2, model: null }),
      someAttempt({ iteration: 3, number: 2, now: waits }),
    ],
  })
  assert.deepEqual(runNews(first, second, TERMINAL), [
    '✗ t-000001 dig the ground failed after 1m 0s, $0.25: no spade …',
    '▶ t-000002 buy a spade (s-000001)',
    '✓ t-000002 buy a spade done (unverified) in 1m 0s, $0.25',
    '▶ t-000001 dig the ground (attempt 2, sonnet, s-000001)',
    '● t-000001 dig the ground waits for you: pcc respond 7',
  ])
  assert.deepEqual(runNews(second, { ...second, state: 'paused' }, TERMINAL), [
    'Paused. Go on with: pcc resume r-aaaaaa',
  ])
  assert.deepEqual(runNews(second, { ...second, stopping: true }, TERMINAL), ['No new task begins: it was stopped.'])
  assert.deepEqual(runNews(second, { ...second, reason: 'the disk is full' }, TERMINAL), [
    'The next task cannot begin yet: the disk is full',
  ])
})

test('after its agent is done, a task is shown as being verified, being merged or waiting for a review', () => {
  const at = (landing: 'verifying' | 'merging', decision: number | null) =>
    someRun({
      attempts: [someAttempt({ now: { status: 'completed', last_line: null, resumes_at: null, decision, landing } })],
    })
  const looks = [someRun(), at('verifying', null), at('merging', 3), at('merging', null), at('verifying', 4)]
  const lines = looks.slice(1).flatMap((look, index) => runNews(looks[index], look, TERMINAL))
  assert.deepEqual(lines, [
    '◆ t-000001 dig the ground is being verified',
    '● t-000001 dig the ground waits for your review: pcc review t-000001',
    '◆ t-000001 dig the ground is being merged',
    '● t-000001 dig the ground waits for you: pcc respond 4',
  ])
})

test('why a ready task does not begin is said once, in the lines and on the page of the run', () => {
  const why = (id: string) =>
    `${id} (dig) is kept apart from t-000001, which is at work, because both will probably change src`
  const apart = (id: string) => ({ id, title: 'dig', beside: 't-000001', path: 'src', why: why(id) })
  const before = someRun()
  const some = someRun({ kept_apart: [apart('t-000002')] })
  const all = someRun({ kept_apart: [apart('t-000002'), apart('t-000003')], reason: why('t-000002') })
  assert.deepEqual(runNews(before, some, TERMINAL), [`○ ${why('t-000002')}`])
  assert.deepEqual(runNews(before, all, TERMINAL), [
    `○ ${why('t-000003')}`,
    `The next task cannot begin yet: ${why('t-000002')}`,
  ])
  assert.deepEqual(runNews(all, all, TERMINAL), [])
  const page = runPage(all, { terminal: TERMINAL, now: NOW, cwd: '/', home: undefined })
  for (const id of ['t-000002', 't-000003']) assert.equal(page.filter(line => line.includes(why(id))).length, 1)
})

test('work that is done without a change says so', () => {
  const done = someRun({ attempts: [overAttempt('done', { changed_nothing: true })] })
  assert.deepEqual(runNews(someRun(), done, TERMINAL), [
    '✓ t-000001 dig the ground done (unverified) in 1m 0s, $0.25; it changed nothing',
  ])
})

test('a task that a refusal holds says what it waits for, in the news and on the page', () => {
  const why = 'It waits for your yes to Bash rm -rf legacy: pcc respond 3 --approve --again\nThe agent says: no'
  const now = { status: 'paused', last_line: null, resumes_at: null, decision: null, landing: null, why } as const
  const held = someRun({ attempts: [someAttempt({ now })] })
  const line = '● t-000001 dig the ground waits for your yes to Bash rm -rf legacy: pcc respond 3 --approve --again …'
  assert.deepEqual(runNews(someRun(), held, TERMINAL), [line])
  assert.equal(runPage(held, { terminal: TERMINAL, now: NOW, cwd: '/', home: undefined }).includes(line), true)
})

test('the reason why a merge waits is shown once', () => {
  const now = { status: 'completed', last_line: null, resumes_at: null, decision: null, landing: 'merging' } as const
  const merging = someRun({ attempts: [someAttempt({ now })] })
  const waiting = someRun({ attempts: [someAttempt({ now: { ...now, held_up: 'add.js is changed' } })] })
  assert.deepEqual(runNews(merging, waiting, TERMINAL), [
    '⏳ t-000001 dig the ground: its merge waits: add.js is changed',
  ])
  assert.deepEqual(runNews(waiting, waiting, TERMINAL), [])
})

test('what a paused task waits for is said with what helps', () => {
  const why = 'Claude Code is not logged in.\nLog in with: pcc agents login.'
  const now = { status: 'paused', last_line: null, resumes_at: Date.now() + 1, decision: null, landing: null } as const
  const paused = someRun({ attempts: [someAttempt({ now: { ...now, why } })] })
  const [line = '', ...others] = runNews(someRun(), paused, TERMINAL)
  assert.match(
    line,
    /^⏳ t-000001 .* is tried again .*: Claude Code is not logged in\. Log in with: pcc agents login\.$/,
  )
  assert.deepEqual(others, [])
})

test('the summary says how the run ended, what it took and what to do next', () => {
  const ended = { state: 'ended', ended_at: NOW, iterations: 3 } as const
  const run = someRun({
    ...ended,
    outcome: 'complete',
    reason: 'every task is done',
    tasks: { done: 3 },
    unverified: 2,
  })
  assert.deepEqual(runSummaryLines(run, TERMINAL, NOW), [
    '✓ Run r-aaaaaa of the whole project: complete, every task is done',
    '  1 done, 2 done (unverified); 3 attempts, 1m 40s, $0.50',
    '  Unverified: see what is checked here with: pcc gates /nowhere/shop',
  ])
  const attempts = [someAttempt({ outcome: 'done', verification: 'unverified' })]
  assert.match(
    runSummaryLines({ ...run, attempts }, TERMINAL, NOW).at(-1) ?? '',
    /look at it yourself: pcc diff t-000001$/,
  )
  const target = { kind: 'feature', name: 'garden' } as const
  const capped = someRun({ ...ended, target, outcome: 'limit_reached', reason: '3 attempts were made' })
  assert.deepEqual(runSummaryLines(capped, TERMINAL, NOW).slice(-1), [
    '  Go on with: pcc run garden --project /nowhere/shop',
  ])
  const idle = someRun({ ...ended, outcome: 'no_plan', reason: 'no task is ready', tasks: { failed: 1 } })
  assert.deepEqual(runSummaryLines(idle, TERMINAL, NOW).slice(-1), [
    '  See what failed with: pcc task list --state failed',
  ])
  assert.deepEqual(runSummaryLines(someRun(), TERMINAL, NOW), [], 'one that goes on has no summary')
})

test('runs are a table that says how to see the older ones', () => {
  const old = someRun({
    id: 'r-bbbbbb',
    state: 'ended',
    outcome: 'blocked',
    ended_at: NOW - 40_000,
    tasks: { blocked: 1 },
  })
  assert.deepEqual(runLines({ runs: [someRun(), old], total: 5 }, TERMINAL, NOW), [
    'Run       Target  State      Tasks   Cost   Since   Took',
    'r-aaaaaa  shop    ● running  3 left  $0.50  1m ago  1m 40s',
    'r-bbbbbb  shop    ○ blocked  1 left  $0.50  1m ago  1m 0s',
    '3 older: pcc runs --all',
  ])
  assert.match(runLines({ runs: [], total: 0 }, TERMINAL, NOW).join('\n'), /^No runs yet/)
})

test('a dry run is a numbered list with models and reasons, and what would not run', () => {
  const place = { project: '/nowhere/shop', target: { kind: 'project' } } as const
  const steps = [{ id: 't-000001', title: 'dig', model: 'sonnet', why: 'nothing is known yet' }]
  const held_up = [{ id: 't-000002', title: 'plant', why: 'comes after t-000009, which is failed' }]
  const models: RunPlan['models'] = [
    { model: 'haiku', tasks: 9, cost_usd: 0.9, by: 'history', attempts: 12 },
    { model: 'sonnet', tasks: 1, cost_usd: 0.3, by: 'prices', attempts: 12 },
  ]
  const ways = { beyond_limit: 2, parallel: 3, in_place: null, strategy: 'cost-optimized' } as const
  const plan: RunPlan = { ...place, ...ways, steps, held_up, models }
  assert.deepEqual(runPlanLines(plan, { ...TERMINAL, width: 300 }), [
    '1 task, in this order if each goes well at its first try; nothing was started:',
    '1. t-000001  dig',
    '   sonnet: nothing is known yet',
    'Each in a worktree of its own, at most 3 at once.',
    'Models, by the strategy cost-optimized: haiku for 9 tasks (about $0.90, the mean of 12 earlier), sonnet for 1 task (about $0.30, estimated from list prices); about $1.20 in all. Others: --model, --model-strategy.',
    '2 more tasks would be left by the limit.',
    'Would not run:',
    '  t-000002  plant: comes after t-000009, which is failed',
  ])
  const unknown = [{ model: null, tasks: 3, cost_usd: null, by: null, attempts: 0 }]
  const lines = runPlanLines({ ...plan, models: unknown }, { ...TERMINAL, width: 300 })
  assert.ok(lines.some(line => line.includes("the agent's own model for 3 tasks (cost not known).")))
  const empty = { ...plan, steps: [], models: [], beyond_limit: 0 }
  assert.equal(runPlanLines(empty, TERMINAL)[0], 'Nothing can be done: no task is ready.')
  assert.match(
    runPlanLines({ ...empty, held_up: [] }, TERMINAL).join('\n'),
    /^There are no open tasks\. .*pcc task import/,
  )
})

test('the page of a run and the list of tasks say what is held up and what waits for a review', () => {
  const now = { status: 'completed', last_line: null, resumes_at: null, decision: null, landing: 'merging' } as const
  const held = someAttempt({ now: { ...now, held_up: '/nowhere/shop has changes that are not committed' } })
  const review = someAttempt({ task_id: 't-000002', iteration: 2, now: { ...now, decision: 7 } })
  const here = { terminal: TERMINAL, now: NOW, cwd: '/', home: undefined }
  const why =
    'waits for you (pcc review t-000003): test (npm test) failed: only tests fail that failed before the work, too: sum'
  const red = someAttempt({
    task_id: 't-000003',
    iteration: 3,
    now: { ...now, landing: 'verifying', decision: 8, why },
  })
  const login = { ...now, status: 'paused', landing: null, resumes_at: NOW + 1, why: 'not logged in' } as const
  const [fourth, fifth] = ['t-000004', 't-000005'].map(task_id => someAttempt({ task_id, now: login }))
  assert.ok(fourth && fifth)
  const need = { ...NOTHING_MORE, key: 'a', kind: 'review', text: 'dig: may it be merged?', since: 0 } as const
  const needs = [
    { ...need, task_id: 't-000002', next: 'pcc review t-000002' },
    {
      ...need,
      kind: 'gate' as const,
      task_id: 't-000003',
      text: 't-000003 fell: no JSON in it.',
      next: 'pcc respond 3',
    },
    { ...need, kind: 'login' as const, text: 'An account cannot be used', next: 'Log in with: pcc agents login' },
  ]
  const page = runPage(someRun({ attempts: [held, review, red, fourth, fifth], needs }), here)
  const merge = 'its merge waits: /nowhere/shop has changes that are not committed'
  assert.ok(page.includes(`Held up: t-000001: ${merge}`), page.join('\n'))
  assert.ok(page.some(line => /^Held up: t-000004, t-000005: is tried again at .*: not logged in/.test(line)))
  assert.ok(page.includes('Needs you: t-000002 dig: may it be merged? Type: pcc review t-000002'), page.join('\n'))
  assert.ok(page.includes('Needs you: t-000003 fell: no JSON in it. Type: pcc respond 3'), page.join('\n'))
  assert.ok(page.includes('Needs you: An account cannot be used. Log in with: pcc agents login'))
  assert.ok(page.includes(`● t-000003 dig the ground ${why}`))
  assert.ok(
    page.includes('⏳ t-000001 dig the ground: its merge waits: /nowhere/shop has changes that are not committed'),
  )
  assert.ok(page.includes('● t-000002 dig the ground waits for your review: pcc review t-000002'))
  const task = { ...{ id: 't-000001', title: 'dig', state: 'merging', verification: null, reason: null, priority: 0 } }
  const view = { ...task, labels: [], feature: null, after: [], children: 0, children_done: 0 } as unknown as TaskView
  const [line] = taskLines([view], TERMINAL, new Map([['t-000001', 'its merge waits: changes']]))
  assert.equal(line, 't-000001  ⏳ waiting  dig  · its merge waits: changes')
})

test('a run that failed before any attempt says where to look, and how to go on', () => {
  const lines = runSummaryLines(someRun({ state: 'ended', outcome: 'failure', attempts: [] }), TERMINAL, NOW)
  assert.ok(lines.includes('  See which agents are ready with: pcc agents doctor'), lines.join('\n'))
  assert.ok(!lines.some(line => line.includes('--state failed')))
  const given = someRun({ state: 'ended', outcome: 'failure', attempts: [overAttempt('failed')], tasks: { ready: 1 } })
  const words = runSummaryLines(given, TERMINAL, NOW)
  assert.ok(words.includes('  See why with: pcc task show t-000001'), 'the agent gave up, and its task is ready')
  assert.ok(!words.some(line => line.includes('--state failed')))
  const failed = someRun({ state: 'ended', outcome: 'failure', attempts: [], tasks: { failed: 1 } })
  const advice = runSummaryLines(failed, TERMINAL, NOW).join('\n')
  assert.match(advice, /pcc task reset/, 'another run would meet the same failed task')
})
