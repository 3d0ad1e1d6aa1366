import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { createOpenGate } from '../../../src/agents/limits/account-gates.ts'
import { orderNeeds } from '../../../src/domain/needs.ts'
import { PAUSED_BY_PERSON } from '../../../src/domain/session-end.ts'
import type { Store } from '../../../src/store/store.ts'
import type { RunRow } from '../../../src/store/tables.ts'
import { listNeeds } from '../../../src/supervisor/report/needs.ts'
import { AN_ESCALATION } from '../../support/an-escalation.ts'
import { tempDir } from '../../support/world.ts'
import { A_RUN, PROJECT, needsWorld as world } from './needs-world.ts'

const refusal = (session: string, task: string, command: string) => {
  const { number: _, ...row } = { number: 0, ...AN_ESCALATION }
  const of = { session_id: session, task_id: task, project: PROJECT }
  const about = { ...of, state: 'denied', bound: `${task} ${command}` } as const
  return { ...row, ...about, target: command, normalised: `Bash ${command}`, input: { command } }
}

test('one request that four attempts were refused is one row with a count, and waits only when its task does', async t => {
  const { store, tasks, escalations, add, claim, pause, list, time } = await world(t)
  const { id } = await add('tidy up')
  for (const session of ['s-1', 's-2', 's-3', 's-4']) {
    time.now += 10
    await claim(session, id)
    await escalations.record(refusal(session, id, 'rm -rf legacy'))
    if (session !== 's-4') {
      const during = await list()
      assert.deepEqual([during.needs.length, during.refused.length], [0, 1], 'the work goes on')
      await store.transaction(tx => tasks.transition(id, { to: 'ready', retry: true }, tx))
      await store.sessions.update(session, { state: 'ended', ended_as: 'error' })
    }
  }
  await pause('s-4', id)
  const { needs, refused } = await list()
  assert.deepEqual(refused, [])
  assert.deepEqual(
    needs.map(({ kind, text, next, count, task_id, title }) => [kind, text, next, count, task_id, title]),
    [['refused', 'Bash rm -rf legacy', 'pcc respond 1 --approve --again', 4, id, 'tidy up']],
  )
  await store.transaction(tx => tasks.transition(id, { to: 'done', forced: true }, tx))
  assert.deepEqual(await list(), { needs: [], refused: [] })
})

test('what a session waits for says that its worktree was deleted, and names the command that restores it first', async t => {
  const { store, add, claim, pause, list } = await world(t)
  const { id } = await add('paint')
  await claim('s-1', id)
  const place = {
    directory: tempDir(t),
    top: PROJECT,
    task: id,
    attempt: 1,
    branch: 'pcc/b',
    target: 'main',
    base: 'b',
  }
  await pause('s-1', id)
  await store.sessions.update('s-1', {
    options: { project: PROJECT, task: 't', place },
    status_reason: 'its budget is spent',
  })
  assert.match((await list()).needs[0]?.text ?? '', /its budget is spent; give it up with: pcc stop s-1$/)
  rmSync(place.directory, { recursive: true })
  const [need] = (await list()).needs
  assert.match(need?.text ?? '', / \(its worktree is gone; restore it, then: pcc resume s-1\)$/)
  assert.deepEqual([need?.next, need?.number], [`pcc worktree restore ${id}`, null])
})

test('a feature whose phase did not come to its end waits for a person, except where they stopped it', async t => {
  const { store, session, list } = await world(t)
  const row = { project: PROJECT, phase: 'spec', source: null, options: {}, until: 'tasks', draft: [] } as const
  const times = { created_at: 5, updated_at: 9 }
  const insert = (name: string, problem: string | null, session_id: string | null = null) =>
    store.transaction(tx =>
      store.features.insert({ ...row, ...times, id: `f-${name}`, name, problem, draft: [], session_id }, tx),
    )
  await session('s-1', { state: 'ended', ended_as: 'stopped' })
  await insert('paint', 'Its session s-9 ended without a spec\nTry again')
  await insert('sky', 'Its session s-1 was stopped', 's-1')
  await insert('sea', null)
  assert.deepEqual(
    (await list()).needs.map(({ kind, text, next, since }) => [kind, text, next, since]),
    [
      [
        'feature',
        'Feature paint stands still. Its session s-9 ended without a spec',
        `pcc feature create paint --project ${PROJECT}`,
        9,
      ],
    ],
  )
})

test('a task that a person resets begins without its earlier refusals; what it is refused again is listed', async t => {
  const { store, tasks, escalations, add, claim, list } = await world(t)
  const { id } = await add('tidy up')
  await claim('s-1', id)
  await escalations.record(refusal('s-1', id, 'rm -rf legacy'))
  await store.transaction(tx => tasks.transition(id, { to: 'failed', forced: true }, tx))
  assert.equal((await list()).refused.length, 1)
  const failed = await store.tasks.get(id)
  assert.ok(failed)
  await store.transaction(tx => tasks.force(failed, { to: 'ready' }, tx))
  assert.deepEqual(await list(), { needs: [], refused: [] })
  await claim('s-2', id)
  await escalations.record(refusal('s-2', id, 'rm -rf legacy'))
  assert.deepEqual(
    (await list()).refused.map(({ number, count }) => [number, count]),
    [[2, 1]],
  )
})

test('a person who resets or fails finished work ends the question about it, and its next attempt has the next number', async t => {
  const { store, tasks, escalations, add, claim, list } = await world(t)
  for (const [index, to] of (['ready', 'failed'] as const).entries()) {
    const session = `s-${index}`
    const { id } = await add(`finished ${to}`)
    await claim(session, id)
    await store.transaction(tx => tasks.transition(id, { to: 'verifying' }, tx))
    const gate = { ...refusal(session, id, 'verifier'), kind: 'error', state: 'open', bound: null } as const
    await escalations.record(gate)
    assert.equal((await list()).needs.length, 1)
    const finished = await store.tasks.get(id)
    assert.ok(finished)
    await store.transaction(tx => tasks.force(finished, { to }, tx))
    assert.deepEqual((await list()).needs, [])
    if (to === 'failed') await store.transaction(tx => tasks.transition(id, { to: 'ready' }, tx))
    await claim(`${session}-again`, id)
    assert.equal((await store.tasks.get(id))?.attempt, 2)
    await store.transaction(tx => tasks.transition(id, { to: 'done', forced: true }, tx))
  }
})

test('a session that waits for a yes names the command that gives it, because to resume it goes on without', async t => {
  const { session, list } = await world(t)
  const status_reason = 'waits for your yes to Bash rm -rf legacy: pcc respond 7 --approve --again'
  await session('s-yes', { state: 'ended', ended_as: 'paused', status_reason })
  await session('s-no', { state: 'ended', ended_as: 'paused', status_reason: `${status_reason}; it changed nothing` })
  const next = (await list()).needs.map(need => need.next)
  assert.deepEqual(next, Array(2).fill('pcc respond 7 --approve --again'))
})

test('each cause that is no decision is one row that says what to type, and is gone with its cause', async t => {
  const { store, tasks, add, session, list } = await world(t)
  const [first, second, third] = [await add('one'), await add('two'), await add('three')]
  await add('after three', [third.id])
  for (const { id } of [first, second]) await store.transaction(tx => heldUp(store, id, tx))
  await session('s-limit', { state: 'ended', ended_as: 'paused', resumes_at: 9, account: 'a-1' })
  await session('s-mine', { state: 'ended', ended_as: 'paused', status_reason: `${PAUSED_BY_PERSON}; go on with: …` })
  await session('s-stuck', { state: 'ended', ended_as: 'paused', status_reason: 'the turn limit was reached\nmore' })
  const gate = { ...createOpenGate('a-1'), source: 'login' as const, reason: 'Not logged in\nRun: claude /login' }
  await store.transaction(tx => store.gates.put({ ...gate, closed_at: 3, closed_until: 9_999 }, 3, tx))
  await store.transaction(tx => tasks.transition(third.id, { to: 'failed', forced: true }, tx))
  const rows = async () => (await list()).needs.map(({ kind, text, next, count }) => [kind, text, next, count])
  assert.deepEqual(
    (await rows()).sort(),
    [
      ['login', 'An account cannot be used: Not logged in', 'Run: claude /login', 1],
      [
        'merge',
        'The merge into main waits: the checkout has changes',
        'Mend that; the merge goes on by itself then.',
        2,
      ],
      [
        'session',
        's-stuck (s-stuck): the turn limit was reached; give it up with: pcc stop s-stuck',
        'pcc resume s-stuck',
        1,
      ],
      [
        'task',
        `three: it failed and holds up another task; give it up with: pcc task cancel ${third.id}`,
        `pcc task reset ${third.id}`,
        1,
      ],
    ].sort(),
  )
  await store.transaction(tx => store.gates.put(createOpenGate('a-1'), 4, tx))
  for (const merge of await store.merges.list()) {
    await store.transaction(tx => store.merges.move(merge, { state: 'merged', updated_at: 9 }, tx))
  }
  await store.transaction(tx => tasks.transition(third.id, { to: 'ready' }, tx))
  await store.sessions.update('s-stuck', { ended_as: 'completed' })
  assert.deepEqual(await rows(), [])
})

test('a project whose gates are not in force is listed while a run works on it', async t => {
  const { store } = await world(t)
  const untrusted = async (project: string) => (project === PROJECT ? 'Not in force' : undefined)
  await store.transaction(tx => store.runs.insert(A_RUN, tx))
  const list = async () => (await listNeeds({ store, untrusted })).needs.map(({ kind, next }) => [kind, next])
  assert.deepEqual(await list(), [['trust', 'pcc trust /usr']])
  await store.transaction(tx => store.runs.update('r-1', { state: 'paused', reason: 'the daemon was stopped' }, tx))
  assert.deepEqual(await list(), [['run', 'pcc resume r-1']])
  await store.transaction(tx => store.runs.update('r-1', { state: 'ended' }, tx))
  assert.deepEqual(await list(), [])
})

test('what keeps tasks from beginning is one row for each project and cause, while a run is held up by it', async t => {
  const { store, list } = await world(t)
  const row: RunRow = {
    ...{ id: 'r-1', project: PROJECT, target: { kind: 'feature', name: 'a' }, options: {}, state: 'running' },
    ...{ outcome: null, reason: null, gave_up: null, stopping: false, iterations: 0, created_at: 5, ended_at: null },
  }
  for (const id of ['r-1', 'r-2']) await store.transaction(tx => store.runs.insert({ ...row, id }, tx))
  const branch = { code: 'place_refused', why: 'no branch is checked out', next: 'git switch BRANCH' }
  const disk = (mb: number) => ({ code: 'disk_full', why: `only ${mb} MB are free`, next: 'Free some space' })
  const heldUp = (subject: string, ...by: (typeof branch)[]) =>
    store.append([{ actor: 'daemon', subject, kind: 'run.held_up', body: { by } }])
  const rows = async () => (await list()).needs.map(({ kind, text, next, count }) => [kind, text, next, count]).sort()
  await heldUp('r-1', branch, disk(3))
  await heldUp('r-2', disk(2))
  const ofBranch = ['run', 'Tasks cannot begin: no branch is checked out', 'git switch BRANCH', 1]
  assert.deepEqual(await rows(), [ofBranch, ['run', 'Tasks cannot begin: only 3 MB are free', 'Free some space', 2]])
  await heldUp('r-2')
  await heldUp('r-1', branch)
  assert.deepEqual(await rows(), [ofBranch])
  await store.runs.update('r-1', { state: 'paused' })
  assert.deepEqual(await rows(), [], 'a person has paused it')
})

test('finished tasks that wait for the same checks are one row with what to type, and take the place of the trust row', async t => {
  const { store, escalations, add, session } = await world(t)
  await store.transaction(tx => store.runs.insert(A_RUN, tx))
  const untrusted = async () => 'Not in force'
  const ask = async (title: string, input: object, more: object = {}) => {
    const { id } = await add(title)
    await session(`s-${id}`)
    const row = {
      ...refusal(`s-${id}`, id, title),
      kind: 'review',
      tool: 'accept',
      state: 'open',
      bound: null,
    } as const
    await escalations.record({ ...row, input: { task: id, untilChecked: true, ...input }, ...more })
    return id
  }
  const list = async () =>
    (await listNeeds({ store, untrusted })).needs.map(({ key, next, count, number }) => [key, next, count, number])
  const [one, two] = [await ask('one', { fix: 'pcc trust /usr' }), await ask('two', { fix: 'pcc trust /usr' })]
  assert.deepEqual(await list(), [['unchecked:/usr', 'pcc trust /usr', 2, null]])
  const [row] = (await listNeeds({ store, untrusted })).needs
  assert.match(row?.text ?? '', new RegExp(`^2 finished tasks: .*: pcc review ${one}, pcc review ${two}$`))
  // Something was found in this one, and a request of an agent whose input looks the same is a request.
  const three = await ask('three', {})
  await ask('four', { fix: 'pcc trust /usr' }, { kind: 'permission', tool: 'mcp__x__y' })
  const rows = (await list()).map(([key, next]) => [key, next])
  assert.deepEqual(rows.sort(), [
    ['decision:3', `pcc review ${three}`],
    ['decision:4', 'pcc respond 4 --interactive'],
    ['unchecked:/usr', 'pcc trust /usr'],
  ])
  await store.transaction(tx => escalations.settle(1, { verdict: 'allow', by: 'ann' }, tx))
  assert.deepEqual((await list()).find(([key]) => key === 'unchecked:/usr')?.[2], 1, 'each can be answered by itself')
  // A command that sets a check agrees to nothing.
  await ask('five', { fix: 'pcc config set gates.test "…"' })
  assert.ok((await list()).some(([key]) => key === 'trust:/usr'))
})

test('over random nights every cause is one row, none is of a task that is over, and none is lost', async t => {
  const COMMANDS = ['rm -rf legacy', 'git push --force', 'npm publish']
  const step = fc.record({
    do: fc.constantFrom('refuse', 'retry', 'wait', 'done', 'cancel', 'deny', 'ask', 'answer', 'go on'),
    task: fc.nat(2),
    command: fc.constantFrom(...COMMANDS),
  })
  const nights = fc.array(step, { minLength: 1, maxLength: 25 })
  // One store for all nights: what an earlier one left is of other tasks.
  const { store, tasks, escalations, add, claim, pause, list, time } = await world(t)
  let sessions = 0
  await fc.assert(
    fc.asyncProperty(nights, async night => {
      const ids = [(await add('one')).id, (await add('two')).id, (await add('three')).id]
      const sessionOf = new Map<string, string>()
      /** The requests of each task that no person has answered yet, and the questions. */
      const unanswered = new Map<string, Set<string>>(ids.map(id => [id, new Set()]))
      const said = new Map<string, Set<string>>(ids.map(id => [id, new Set()]))
      for (const { do: what, task: index, command } of night) {
        time.now += 1
        const id = ids[index] ?? ''
        const task = await store.tasks.get(id)
        const isOver = task?.state === 'done' || task?.state === 'cancelled'
        if (isOver) continue
        if (task?.state === 'ready') {
          sessions += 1
          sessionOf.set(id, `s-${sessions}`)
          await claim(`s-${sessions}`, id)
        }
        const session = sessionOf.get(id) ?? ''
        const isWaiting = task?.state === 'waiting'
        const move = (to: 'ready' | 'done' | 'cancelled' | 'running') =>
          store.transaction(tx => tasks.transition(id, { to, forced: to === 'done' }, tx))
        const numberOf = async (text: string) =>
          (await store.escalations.list({ states: ['open', 'denied'] })).find(
            row => row.task_id === id && row.target === text,
          )?.number
        if (what === 'refuse' && !isWaiting) {
          await escalations.record(refusal(session, id, command))
          if (!said.get(id)?.has(command)) unanswered.get(id)?.add(command)
        } else if (what === 'ask' && !isWaiting) {
          await escalations.record({ ...refusal(session, id, 'error'), kind: 'error', state: 'open', bound: null })
          unanswered.get(id)?.add('error')
        } else if (what === 'wait' && !isWaiting) await pause(session, id)
        else if (what === 'go on' && isWaiting) {
          await store.sessions.update(session, { state: 'running', ended_as: null, ended_at: null })
          await move('running')
        } else if (what === 'retry') {
          // What a session had asked is withdrawn when it ends.
          const open = await numberOf('error')
          if (open !== undefined)
            await store.transaction(tx => escalations.settle(open, { verdict: 'deny', by: 'ann' }, tx))
          unanswered.get(id)?.delete('error')
          await move('ready')
          await store.sessions.update(session, { state: 'ended', ended_as: 'error' })
        } else if (what === 'done') await move('done')
        else if (what === 'cancel') await move('cancelled')
        else if (what === 'deny' || what === 'answer') {
          const text = what === 'deny' ? command : 'error'
          const number = await numberOf(text)
          if (number === undefined) continue
          if (what === 'deny') await escalations.answer(number, { verdict: 'deny', by: 'ann' })
          else await store.transaction(tx => escalations.settle(number, { verdict: 'deny', by: 'ann' }, tx))
          unanswered.get(id)?.delete(text)
          if (what === 'deny') said.get(id)?.add(command)
        }
      }
      const { needs, refused } = await list()
      const rows = [...needs, ...refused]
      const keys = rows.map(({ key }) => key)
      assert.equal(new Set(keys).size, keys.length)
      assert.deepEqual([needs, refused], [orderNeeds(needs), orderNeeds(refused)])
      for (const id of ids) {
        const task = await store.tasks.get(id)
        const ofTask = rows.filter(({ task_id }) => task_id === id)
        if (task?.state === 'done' || task?.state === 'cancelled') assert.deepEqual(ofTask, [])
        else {
          const decisions = ofTask.filter(({ number }) => number !== null)
          const texts = await Promise.all(
            decisions.map(async ({ number }) => (await store.escalations.get(number ?? 0))?.target),
          )
          assert.deepEqual(texts.sort(), [...(unanswered.get(id) ?? [])].sort(), 'one row for each cause, none lost')
          if (task?.state === 'waiting')
            assert.ok(
              needs.some(({ task_id }) => task_id === id),
              'nothing stands in silence',
            )
        }
      }
    }),
    { numRuns: 40 },
  )
})

async function heldUp(
  store: Store,
  task: string,
  tx: Parameters<Parameters<Store['transaction']>[0]>[0],
): Promise<void> {
  await store.merges.insert(
    {
      ...{ task_id: task, attempt: 1, project: PROJECT, repository: '/p/.git', branch: `pcc/${task}`, target: 'main' },
      ...{
        strategy: 'rebase',
        state: 'waiting',
        reason: 'the checkout has changes',
        base: null,
        head: null,
        result: null,
      },
      ...{ batch: null, as_pull_request: 0, rounds: 0, cleaned_at: null, created_at: 7, updated_at: 7 },
    },
    tx,
  )
}
