import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { Task, TaskState } from '../../../src/domain/task.ts'
import type { Store } from '../../../src/store/store.ts'
import { bareEnv, makeRepository } from '../../support/world.ts'
import { scriptedAgent, type Turn } from '../session/scripted-agent.ts'
import { type Life, type Lives, openLives } from './lives.ts'
import { FAILED, named, watched } from './scripts.ts'

const HOUR_MS = 3_600_000

/** The possible outcomes of a turn. */
const turn = fc.constantFrom<'done' | 'fails' | 'asks' | 'limit' | 'overloaded' | 'login' | 'credit'>(
  ...(['done', 'done', 'done', 'fails', 'asks', 'limit', 'overloaded', 'login', 'credit'] as const),
)
/** What a person does, or what happens to the daemon, after a number of events. */
const act = fc.record({
  after: fc.integer({ min: 0, max: 6 }),
  what: fc.constantFrom(
    ...['pause', 'resume', 'stop', 'answer', 'reset', 'kill', 'kill', 'restart', 'stop the daemon'],
    // Faults of the surroundings, and what mends them.
    ...['try the account', 'change a file of a task', 'change another file', 'clean the checkout'],
    ...['commit a file of a task', 'lose the branch', 'lose the branch', 'fill the disk', 'free the disk'],
  ),
  at: fc.nat(7),
})
const night = fc.record({
  /** Each task comes after some of those before it, or is a part of the first. */
  tasks: fc.array(fc.record({ after: fc.array(fc.nat(5), { maxLength: 2 }), isPart: fc.boolean() }), {
    minLength: 2,
    maxLength: 5,
  }),
  turns: fc.array(turn, { maxLength: 12 }),
  acts: fc.array(act, { maxLength: 5 }),
})

type Night = typeof night extends fc.Arbitrary<infer T> ? T : never

/** Found with seed 705534646: the run was paused while a task was verifying, and then stopped after the current task. */
const STOPPED_WHILE_PAUSED: Night = {
  tasks: [
    { after: [1, 1], isPart: false },
    { after: [], isPart: false },
  ],
  turns: ['done', 'done'],
  acts: [
    { after: 6, what: 'stop the daemon', at: 0 },
    { after: 2, what: 'kill', at: 7 },
    { after: 0, what: 'stop the daemon', at: 1 },
    { after: 0, what: 'stop', at: 1 },
  ],
}

const ALONE = { after: [], isPart: false }
const THREE = [ALONE, ALONE, ALONE]
const at0 = (what: string) => ({ after: 0, what, at: 0 })

/** Nights in which a fault holds up the first task while others are ready, and two at once. They are rare by chance. */
const HELD_UP: Night[] = [
  { tasks: THREE, turns: [], acts: [at0('change a file of a task')] },
  { tasks: THREE, turns: [], acts: [{ after: 3, what: 'commit a file of a task', at: 0 }] },
  { tasks: THREE, turns: ['done', 'credit'], acts: [at0('change another file'), at0('fill the disk')] },
  { tasks: THREE, turns: ['done', 'login'], acts: [at0('change a file of a task'), at0('lose the branch')] },
]

function scriptTurn(word: string | undefined, now: number): Turn {
  if (word === 'fails') return FAILED
  if (word === 'asks') return { asks: true }
  if (word === 'overloaded') return { refused: { kind: 'overloaded', message: 'full' } }
  if (word === 'login') return { refused: { kind: 'auth', message: 'The login was refused.', status: 403 } }
  if (word === 'credit') return { failure: { kind: 'billing', message: 'Your credit balance is too low' } }
  if (word !== 'limit') return {}
  const limit = { source: 'result', message: 'used up', resetsAt: now + HOUR_MS } as const
  return { failure: { kind: 'limit', message: 'used up', limit } }
}

test('whatever a night brings, daemons that die included, nothing is lost, nothing overtakes, and every run comes to an end', async t => {
  await nights(t, { count: 8, parallel: fc.constant(1), isGit: false, known: [STOPPED_WHILE_PAUSED] })
})

test('the same in git, also with several tasks at once, each in a worktree of its own', async t => {
  await nights(t, { count: 6, parallel: fc.integer({ min: 1, max: 3 }), isGit: true, known: HELD_UP })
})

test('and where there is no git several are done one at a time', async t => {
  await nights(t, { count: 2, parallel: fc.integer({ min: 2, max: 3 }), isGit: false })
})

interface Nights {
  count: number
  parallel: fc.Arbitrary<number>
  isGit: boolean
  /** Nights that failed once; they are played first, with one task at a time. */
  known?: Night[]
}

async function nights(t: TestContext, { count, parallel, isGit, known = [] }: Nights): Promise<void> {
  await fc.assert(
    fc.asyncProperty(night, parallel, async ({ tasks, turns, acts }, atOnce) => {
      const script = [...turns]
      const time = { now: () => Date.now() }
      const { agent, most } = watched(
        scriptedAgent((prompt, _call, cwd) => {
          if (isGit && named(prompt) !== prompt) appendFileSync(join(cwd, `${named(prompt)}.txt`), 'work\n')
          return scriptTurn(script.shift(), time.now())
        }),
      )
      const lives = await openLives(t, agent, { PCC_SESSIONS_RETRY_SECONDS: '1' })
      time.now = () => Date.now() + lives.time.ahead
      const { store, project } = lives
      if (isGit) {
        writeFileSync(join(project, 'README.md'), 'read me\n')
        makeRepository(project)
      }
      let life = await lives.begin()
      const ids = await submitTasks(tasks, project, life)
      const start = () =>
        life.call('POST', '/runs', { project, target: { kind: 'project' }, parallel: atOnce, env: {} })
      const run = (await start()).body.id as string
      for (const { after, what, at } of acts) {
        await waitForEvents(store, after)
        if (isGit) changeCheckout(what, { project, task: `t${at}` })
        if (what === 'fill the disk') lives.disk.isFull = true
        if (what === 'free the disk') await freeDisk(lives)
        life = (await perform({ what, at, run, ids }, { life, store, begin: lives.begin })) ?? life
      }
      await driveToEnd(run, { life, lives, slots: isGit ? atOnce : 1 })
      // A task that waited for a person goes on at once in its own worktree, also beside those that began meanwhile.
      const answered = isGit ? turns.filter(word => word === 'asks').length : 0
      assert.ok(most() <= (isGit ? atOnce : 1) + answered, `${most()} agents at once`)
      if (isGit) await checkWorktrees(run, store)
      await checkNight(run, store, project)
      await life.die()
    }),
    {
      numRuns: Number(process.env['PCC_NIGHTS'] ?? count),
      endOnFailure: true,
      examples: known.map((failed): [Night, number] => [failed, 1]),
    },
  )
}

async function submitTasks(tasks: { after: number[]; isPart: boolean }[], project: string, life: Life) {
  const ids: string[] = []
  for (const [index, { after, isPart }] of tasks.entries()) {
    const first = ids[0]
    const parent = isPart && first !== undefined ? { parent: first } : {}
    const blockers = after.filter(at => at > 0 && at < index).flatMap(at => ids[at] ?? [])
    const { body } = await life.call('POST', '/tasks', { project, title: `t${index}`, after: blockers, ...parent })
    // The API refuses a part that would come after a task that comes after its parent: such a task is left out.
    if (body.task) ids.push(body.task.id)
  }
  return ids
}

/** Waits for a number of further events, or until nothing more happens. */
async function waitForEvents(store: Store, events: number): Promise<void> {
  const [last] = await store.events({ tail: 1 })
  for (let quiet = 0; quiet < 30; quiet += 1) {
    const [now] = await store.events({ tail: 1 })
    if ((now?.id ?? 0) - (last?.id ?? 0) >= events) return
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}

interface Act {
  what: string
  at: number
  run: string
  ids: string[]
}

async function perform(
  { what, at, run, ids }: Act,
  { life, store, begin }: { life: Life; store: Store; begin(): Promise<Life> },
) {
  if (what === 'pause' || what === 'resume') await life.call('POST', `/runs/${run}/${what}`, {})
  if (what === 'stop') await life.call('POST', `/runs/${run}/stop`, { now: at > 3 })
  if (what === 'reset') await life.call('POST', `/tasks/${ids[at % ids.length]}/reset`, {})
  if (what === 'answer') await answerAll(life, store)
  if (what === 'try the account') await life.call('POST', '/accounts/try', {})
  if (what === 'restart') await life.end({ goOn: true })
  if (what === 'stop the daemon') await life.end({ goOn: false })
  if (what === 'kill') {
    const dying = life.die({ transactions: at, when: at % 2 ? 'before' : 'after' })
    // The daemon dies even if nothing more is written.
    await Promise.race([dying, waitForEvents(store, 10_000).then(() => life.die())])
  }
  return ['restart', 'stop the daemon', 'kill'].includes(what) ? begin() : undefined
}

/** `isPatient`: what went wrong is tried again; otherwise it is given up, because no agent here resolves a conflict. */
async function answerAll(life: Life, store: Store, isPatient = true): Promise<void> {
  for (const { number, kind } of await store.escalations.list({ states: ['open'] })) {
    const verdict = isPatient || kind !== 'error' ? 'allow' : 'deny'
    const answer = kind === 'question' ? { answer: ['red'] } : { verdict }
    await life.call('POST', `/escalations/${number}/answer`, { ...answer, env: {} })
  }
}

async function freeDisk({ disk, store }: Lives): Promise<void> {
  disk.isFull = false
  await store.append([{ actor: 'daemon', subject: 'daemon', kind: 'disk.freed', body: {} }])
}

/** A person works in the checkout that work is merged into. */
function changeCheckout(what: string, { project, task }: { project: string; task: string }): void {
  const env = bareEnv(project)
  const git = (...args: string[]) => spawnSync('git', args, { cwd: project, env })
  if (what === 'change a file of a task') writeFileSync(join(project, `${task}.txt`), 'mine\n')
  if (what === 'change another file') appendFileSync(join(project, 'README.md'), 'mine\n')
  if (what === 'commit a file of a task') {
    writeFileSync(join(project, `${task}.txt`), 'committed\n')
    git('add', `${task}.txt`)
    git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '-m', 'mine', '--', `${task}.txt`)
  }
  if (what === 'lose the branch' && git('checkout', '-q', '--detach').status === 0)
    git('branch', '-m', 'main', 'elsewhere')
  if (what !== 'clean the checkout') return
  git('reset', '-q', '--hard')
  git('clean', '-fdq')
  git('branch', '-m', 'elsewhere', 'main')
  git('checkout', '-q', 'main')
}

interface Morning {
  life: Life
  lives: Lives
  /** Tasks at once. */
  slots: number
}

/** In the morning a person answers everything, resumes what is paused, cleans the checkout and frees the disk, and limits are over. */
async function driveToEnd(run: string, { life, lives, slots }: Morning) {
  const { store, time, project } = lives
  for (let round = 0; round < 200; round += 1) {
    const now = await store.runs.get(run)
    if (now?.state === 'ended') return
    await waitForEvents(store, 10_000)
    await checkReason(run, { store, life })
    await checkNobodyWaits(run, { store, slots })
    if (round > 0 && existsSync(join(project, '.git'))) changeCheckout('clean the checkout', { project, task: '' })
    if (round > 0 && lives.disk.isFull) await freeDisk(lives)
    if (now?.state === 'paused') await life.call('POST', `/runs/${run}/resume`, {})
    await answerAll(life, store, round < 3)
    for (const { session_id } of (await store.runs.attempts({ run })).filter(({ outcome }) => outcome === null)) {
      const session = await store.sessions.get(session_id)
      const isStuck = session?.state === 'ended' && session.resumes_at === null && session.ended_as === 'paused'
      if (isStuck) await life.call('POST', `/sessions/${session_id}/resume`, { env: {} })
    }
    time.ahead += HOUR_MS
    life.supervisor.wakeWaiting()
    await life.supervisor.completion.checkAgain()
    life.supervisor.runs.look(run)
  }
  const attempts = await store.runs.attempts({ run })
  assert.fail(`run ${run} never ended: ${JSON.stringify([await store.runs.get(run), attempts])}`)
}

/** An open run without a task at work must have a row that says why; between two steps it soon has one. */
async function checkReason(id: string, { store, life }: { store: Store; life: Life }): Promise<void> {
  for (let polls = 0; polls < 2_000; polls += 1) {
    const run = await store.runs.get(id)
    if (run?.state !== 'running' || run.reason !== null || life.supervisor.liveCount > 0) return
    const open = (await store.runs.attempts({ run: id })).filter(({ outcome }) => outcome === null)
    const sessions = await Promise.all(open.map(({ session_id }) => store.sessions.get(session_id)))
    if (sessions.some(session => session && (session.resumes_at !== null || session.status_reason !== null))) return
    const asked = await Promise.all(
      open.map(({ session_id }) => store.escalations.list({ session: session_id, states: ['open'] })),
    )
    if (asked.flat().length > 0) return
    const merges = await Promise.all(open.map(({ task_id }) => store.merges.open(task_id)))
    if (merges.some(merge => merge?.state === 'waiting' && merge.reason !== null)) return
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  assert.fail('it waits, and nothing says for what')
}

/** No ready task waits while nothing stands in its way: a slot is free, and neither a time nor a person holds the run back. */
async function checkNobodyWaits(id: string, { store, slots }: { store: Store; slots: number }): Promise<void> {
  for (let polls = 0; polls < 2_000; polls += 1) {
    const run = await store.runs.get(id)
    if (run?.state !== 'running' || run.stopping || run.gave_up !== null || run.reason !== null) return
    const [ready] = await store.transaction(tx => store.tasks.free({ project: run.project }, 1, tx))
    if (!ready) return
    const open = (await store.runs.attempts({ run: id })).filter(({ outcome }) => outcome === null)
    const busy = await Promise.all(open.map(attempt => isBusy(attempt, store)))
    if (busy.filter(Boolean).length >= slots) return
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  assert.fail('a ready task waits, and nothing stands in its way')
}

/** Whether an attempt works, or goes on by itself. One that waits for a person, or for the checkout, leaves its slot to others. */
async function isBusy({ session_id, task_id }: { session_id: string; task_id: string }, store: Store) {
  const session = await store.sessions.get(session_id)
  if (session?.state !== 'ended' || session.resumes_at !== null) return true
  const asked = await store.escalations.list({ session: session_id, states: ['open'] })
  return (
    session.ended_as === 'completed' && asked.length === 0 && (await store.merges.open(task_id))?.state !== 'waiting'
  )
}

/** Every attempt had a worktree that no other task had at the same time. */
async function checkWorktrees(run: string, store: Store): Promise<void> {
  for (const { session_id, task_id } of await store.runs.attempts({ run }))
    assert.equal((await store.sessions.get(session_id))?.options.place?.task, task_id)
  const owners = new Map<string, string>()
  for (const { kind, body } of await store.events({ kinds: ['worktree.made', 'worktree.removed'] })) {
    if (kind === 'worktree.made') {
      assert.equal(owners.get(body.directory) ?? body.task, body.task, 'a worktree of another task')
      owners.set(body.directory, body.task)
    }
    if (kind !== 'worktree.removed') continue
    for (const [directory, task] of owners) if (task === body.task) owners.delete(directory)
  }
}

/** What must hold of every night when its run is over. */
async function checkNight(run: string, store: Store, project: string): Promise<void> {
  const tasks = await store.tasks.list({ project })
  const edges = await store.tasks.edges({ project })
  await checkOrder(edges, store)
  const attempts = await store.runs.attempts({ run })
  for (const { id } of tasks) {
    const open = attempts.filter(attempt => attempt.task_id === id && attempt.outcome === null)
    assert.ok(open.length <= 1, 'one owner')
  }
  const faults = attempts.filter(({ failure }) => failure === 'auth' || failure === 'billing')
  assert.deepEqual(
    faults.filter(({ outcome }) => outcome === 'failed'),
    [],
    'a fault of the surroundings fails no attempt',
  )
  const held = tasks.filter(({ state }) => state === 'running' || state === 'waiting')
  const answerable = new Set(attempts.filter(({ outcome }) => outcome === null).map(({ task_id }) => task_id))
  for (const { id } of held) assert.ok(answerable.has(id), `${id} is held by nobody`)
  for (const task of tasks) checkParts(task, tasks)
  // The counts are those of the event: a person may have reset a task since.
  const [ended] = await store.events({ subject: run, kinds: ['run.ended'], tail: 1 })
  const { outcome, tasks: counts = {} } = ended?.kind === 'run.ended' ? ended.body : {}
  if (outcome === 'complete') assert.deepEqual(Object.keys(counts), ['done'])
  else if (outcome === 'failure') assert.ok((counts.failed ?? 0) > 0)
  else assert.ok(outcome === 'interrupted' || outcome === 'blocked', `${outcome}`)
}

/** By the log, no task began before all its blockers were done. */
async function checkOrder(edges: { task_id: string; blocker_id: string }[], store: Store): Promise<void> {
  const states = new Map<string, string>()
  const attempts = new Map<string, number>()
  for (const { kind, body } of await store.events({})) {
    if (!kind.startsWith('task.') || !('task_id' in body) || kind === 'task.updated' || kind === 'task.submitted')
      continue
    if (kind === 'task.started' && 'attempt' in body) {
      const before = attempts.get(body.task_id) ?? 0
      // An attempt that waited goes on although a person has had its blocker done anew meanwhile.
      const blockers = body.attempt > before ? edges.filter(({ task_id }) => task_id === body.task_id) : []
      for (const { blocker_id } of blockers)
        assert.equal(states.get(blocker_id), 'task.finished', 'begun before its blocker was done')
      assert.ok(body.attempt >= before, 'an attempt that was taken away came back')
      attempts.set(body.task_id, body.attempt)
    }
    states.set(body.task_id, kind)
  }
}

function checkParts(task: Task, tasks: readonly Task[]): void {
  const parts = tasks.filter(({ parent_id }) => parent_id === task.id)
  if (parts.length === 0) return
  const has = (state: TaskState) => parts.some(part => part.state === state)
  const isOver = parts.every(({ state }) => ['done', 'failed', 'cancelled'].includes(state))
  const expected = has('failed') ? 'failed' : isOver ? 'done' : 'blocked'
  assert.equal(task.state, expected, `${task.id} and its parts`)
}
