import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OVER_STATES } from '../../src/domain/task.ts'
import { type Open, Person, type PersonDeps, TOLD_MS } from './answering.ts'
import { RECORDING } from './faults/damage.ts'
import { isOfFullDisk } from './fixture/daemon-runner.ts'
import type { RoundFixture } from './fixture/open-fixture.ts'
import { allOf, openRead } from './history.ts'
import { taskText, workCommand } from './plan/scenario.ts'
import type { SessionPlan } from './plan/session-plan.ts'

const LOOK_MS = 120
/** Several daemons may die meanwhile, and each takes half a minute to start on a busy machine. */
const START_MS = 150_000
/** Nothing waits or starts for longer than half a minute without an event in the store; if it does, it is stuck. */
const STUCK_MS = 100_000
/** A round that still produces events after this time is caught in a loop. */
const LONGEST_MS = 1_800_000

interface Drive extends PersonDeps {
  complaints: string[]
}

/** Starts a session as a person would: again, if the daemon died before it confirmed the session. */
export async function startSession(session: SessionPlan, { fixture, runner, complaints }: Drive): Promise<void> {
  const project = fixture.projectOf(session)
  const [first] = session.tasks
  const body = {
    project,
    name: session.name,
    task: taskText(first?.token ?? ''),
    tasks: session.tasks.map(({ token }) => ({ text: taskText(token), priority: 0, after: [] })),
    allowed_tools: session.tasks.flatMap(({ steps, second = [] }) =>
      [...steps, ...second].flatMap(step => (step.do === 'work' ? [`Bash(${workCommand(step)})`] : [])),
    ),
    env: fixture.agentEnvOf(session),
    ...(session.record && { record: join(project, RECORDING) }),
  }
  const end = Date.now() + START_MS
  while (Date.now() < end) {
    try {
      await runner.up()
      if (isKnown(project, fixture)) return
      const { status, body: reply } = await runner.call('POST', '/sessions', body)
      if (status === 201) return
      if (status < 500) complaints.push(`a session was refused: ${JSON.stringify(reply)}`) // a 5xx is recorded as a server error
    } catch {
      // The daemon died during the call; before the next try, the store is checked for the session.
    }
    await sleep(LOOK_MS)
  }
  complaints.push(`session ${session.name} could not be started`)
}

function isKnown(project: string, fixture: RoundFixture): boolean {
  using db = openRead(fixture.paths.database)
  return db.prepare('select 1 from sessions where project = ?').get(project) !== undefined
}

/** Answers questions and keeps the daemon alive until all work is over. Returns whether that happened. */
export async function driveToEnd(drive: Drive, quietSince: () => number): Promise<boolean> {
  const { fixture, runner, plan } = drive
  const person = new Person(drive)
  let overSince: number | undefined
  const end = Date.now() + LONGEST_MS
  let last = { event: 0, at: Date.now() }
  for (;;) {
    await runner.up().catch(error => complain(drive, error))
    const state = readState(fixture)
    const refused = findRefused(drive, state.failed)
    const isOver =
      state.over && refused.length === 0 && state.sessions >= plan.sessions.length && quietSince() < Date.now()
    overSince = isOver ? (overSince ?? Date.now()) : undefined
    if (overSince !== undefined && (state.notTold === 0 || Date.now() - overSince > TOLD_MS)) return true
    if (state.lastEvent !== last.event) last = { event: state.lastEvent, at: Date.now() }
    if (Date.now() - Math.max(quietSince(), last.at) > STUCK_MS || Date.now() > end) return state.over
    await person.look(state.open)
    if (existsSync(fixture.loginFile)) for (const session of refused) await tryAgain(session, drive)
    await sleep(LOOK_MS)
  }
}

interface Refused {
  id: string
  session: SessionPlan
}

/** Sessions that ended because the vendor refused their login, as planned. The person retries them once the login is renewed. */
function findRefused({ plan, fixture }: Drive, failed: { id: string; project: string }[]): Refused[] {
  const planned = plan.sessions.filter(({ tasks }) =>
    tasks.some(({ steps }) => steps.some(step => step.do === 'login')),
  )
  return planned.flatMap(session =>
    failed.filter(({ project }) => project === fixture.projectOf(session)).map(({ id }) => ({ id, session })),
  )
}

/** Like `pcc retry`. If the daemon dies during the call, the next check tries again. */
async function tryAgain({ id, session }: Refused, { runner, fixture }: Drive): Promise<void> {
  await runner.call('POST', `/sessions/${id}/retry`, { env: fixture.agentEnvOf(session) }).catch(() => undefined)
}

function complain({ complaints }: Drive, error: unknown): void {
  const text = String(error)
  if (!isOfFullDisk(text)) complaints.push(text)
}

function readState({ paths }: RoundFixture) {
  try {
    using db = openRead(paths.database)
    const tasks = allOf<{ state: string }>(db, 'select state from tasks')
    const ended = allOf<{ state: string }>(db, "select state from sessions where state <> 'ended'")
    const failed = allOf<{ id: string; project: string }>(
      db,
      "select id, project from sessions where ended_as = 'error'",
    )
    return {
      sessions: allOf(db, 'select id from sessions').length,
      failed,
      over:
        ended.length === 0 &&
        tasks.every(({ state }) => OVER_STATES.some(over => over === state)) &&
        allOf(db, NOT_TIDY).length === 0,
      open: allOf<Open>(db, "select number, kind, input, project from escalations where state = 'open'"),
      notTold: allOf(db, NOT_TOLD).length,
      lastEvent: allOf<{ id: number | null }>(db, 'select max(id) as id from events')[0]?.id ?? 0,
    }
  } catch {
    return { sessions: 0, over: false, open: [], failed: [], notTold: 0, lastEvent: 0 } // the file does not exist yet, or is locked for a moment
  }
}

/** Notices that are not sent yet, and endings that have no notice yet. */
const NOT_TOLD = `select id from outbox where state = 'waiting'
  union all select id from events where kind = 'session.ended' and json_extract(body, '$.status') = 'completed'
    and not exists (select 1 from outbox where dedup_key = 'ended:' || events.id)
    and exists (select 1 from sessions where id = events.subject and project not like '%/run')
  union all select id from events where kind = 'run.ended'
    and not exists (select 1 from outbox where dedup_key = 'run:' || events.id)`

/** Runs that are not over, landed merges that are not cleaned up, and slots that are still there; no event reports those. */
const NOT_TIDY = `select id from runs where state <> 'ended'
  union all select id from merges where state = 'merged' and cleaned_at is null
  union all select rowid from worktrees where state in ('idle', 'leaving')`
